// SPDX-License-Identifier: Apache-2.0
// Every mistake is one sentence that names it and says what would be right, the right code, and nothing left
// behind.
#include <algorithm>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Mistake {
  std::vector<std::string> words;
  std::string names;  // the input, as the sentence shows it
  std::string right;  // what would be right
};

const std::string long_key(513, 'x');
const std::string durations = "write 250ms, 30s, 5m, 1.5h or 2d";

const Mistake mistakes[] = {
    {{}, "no command", "holdfast help"},
    {{"frobnicate"}, "\"frobnicate\"", "holdfast help"},
    {{"--frob", "run", "k", "true"}, "\"--frob\"", "holdfast help run"},
    {{"run", "-x", "k", "true"}, "\"-x\"", "holdfast help run"},
    {{"run", "-5", "--", "true"}, "\"-5\"", "holdfast help run"},
    {{"show", "a", "b"}, "\"b\"", "holdfast help show"},
    {{"help", "me"}, "\"me\"", "holdfast help"},
    {{"run"}, "KEY", "holdfast run [OPTION]... KEY"},
    {{"run", "k"}, "\"k\"", "CMD [ARG]..."},
    {{"run", "k", "--"}, "\"k\"", "CMD [ARG]..."},
    {{"run", "k", ""}, "CMD is empty", "the name of a program"},
    {{"run", "", "true"}, "key is empty", "1 to 512 bytes"},
    {{"run", long_key, "true"}, "513 bytes", "at most 512"},
    {{"run", "a\xff", "true"}, "\"a\\xff\"", "UTF-8"},
    {{"run", "\xc0\x80", "true"}, "\\xc0\\x80", "UTF-8 without NUL"},
    {{"show", ""}, "key is empty", "1 to 512 bytes"},
    {{"run", "--ttl", "0", "k", "true"}, "--ttl: \"0\"", durations},
    {{"run", "--ttl", "0s", "k", "true"}, "--ttl 0s", "at least 20ms"},
    {{"run", "--ttl", "5ms", "k", "true"}, "--ttl 5ms", "at least 20ms"},
    {{"run", "--ttl", "-5s", "k", "true"}, "--ttl: \"-5s\"", durations},
    {{"run", "--ttl", "30", "k", "true"}, "--ttl: \"30\"", durations},
    {{"run", "--ttl", "99999999999999999999h", "k", "true"}, "\"99999999999999999999h\"", durations},
    {{"run", "--ttl", "1e9d", "k", "true"}, "\"1e9d\"", durations},
    {{"run", "--ttl", "", "k", "true"}, "--ttl: \"\"", durations},
    {{"run", "k", "--ttl"}, "\"--ttl\"", "needs a value"},
    {{"run", "-w", "3", "k", "true"}, "-w: \"3\"", "in seconds it would be 3s; write 250ms"},
    {{"run", "--at-most", "1.5", "k", "true"}, "--at-most: \"1.5\"", "in seconds it would be 1.5s;"},
    {{"run", "-w", "99999999999", "k", "true"}, "\"99999999999\"", "it has no unit; write 250ms"},
    {{"run", "-w", "abc", "k", "true"}, "-w: \"abc\"", durations},
    {{"run", "-w", "5 s", "k", "true"}, "-w: \"5 s\"", durations},
    {{"run", "-w", "0s", "k", "true"}, "-w 0s", "give -n"},
    {{"run", "-n", "-w", "5s", "k", "true"}, "-n and -w 5s", "give one of them"},
    {{"run", "-E", "256", "k", "true"}, "\"256\"", "from 0 to 255"},
    {{"run", "-E", "-1", "k", "true"}, "\"-1\"", "from 0 to 255"},
    {{"run", "-E", "1x", "k", "true"}, "\"1x\"", "from 0 to 255"},
    {{"run", "--owner", "", "k", "true"}, "owner is empty", "1 to 512 bytes"},
    {{"run", "--owner", "host:a pid:1 guid:0", "k", "true"}, "\"host:a pid:1 guid:0\"", "give another name"},
    {{"acquire", "k", "--owner", "host:a pid:1 guid:0"}, "\"host:a pid:1 guid:0\"", "give another name"},
    {{"run", "--note", "\xff", "k", "true"}, "\"\\xff\"", "UTF-8"},
    {{"acquire"}, "KEY", "holdfast acquire"},
    {{"release", "k"}, "--owner", "holdfast release"},
    {{"renew", "k"}, "--owner", "holdfast renew"},
    {{"renew", "k", "--owner", "me", "--by", "0s"}, "--by 0s", "at least"},
    {{"renew", "k", "--owner", "me", "--by", "5s", "--ttl", "5s"}, "--by 5s", "give one of them"},
    {{"ls", "--sort", "age"}, "--sort \"age\"", "key, since, remaining or waiting"},
    {{"wait"}, "KEY", "holdfast wait"},
    {{"wait", "-n", "-w", "1s", "k"}, "-n and -w 1s", "give one of them"},
    {{"break", "k"}, "--token", "holdfast show k"},
    {{"break", "k", "--token", "x", "--reason", "y"}, "--token \"x\"", "holdfast show"},
    {{"break", "k", "--token", "0", "--reason", "y"}, "--token \"0\"", "holdfast show"},
    {{"break", "k", "--token", "-1", "--reason", "y"}, "--token \"-1\"", "holdfast show"},
    {{"break", "k", "--token", "99999999999999999999", "--reason", "y"},
     "\"99999999999999999999\"",
     "number"},
    {{"break", "k", "--token", "5"}, "--reason", "why"},
    {{"break", "k", "--token", "5", "--reason", ""}, "--reason", "why"},
    {{"break", "k", "--token", "5", "--reason", "\xff"}, "\"\\xff\"", "UTF-8"},
    {{"break", "--token", "5", "--reason", "y"}, "KEY", "holdfast break"},
    {{"purge", "--older-than", "soon"}, "--older-than: \"soon\"", durations},
    {{"purge", "k"}, "\"k\"", "holdfast help purge"},
    {{"init", "k"}, "\"k\"", "holdfast help init"},
    {{"--store", "", "ls"}, "--store is empty", "sqlite:PATH"},
    {{"--store", "memory:", "run", "k", "true"}, "memory:", "sqlite:PATH"},
    {{"--store", "sqlite://leases.db", "ls"}, "sqlite://leases.db", "sqlite:PATH"},
    {{"--store", "sqlite:~/leases.db", "ls"}, "sqlite:~/leases.db", "$HOME"},
    {{"ls", "a", "--prefix", "b"}, "--prefix \"b\" and \"a\"", "give one of them"},
    {{"--store", "cassandra://host/", "ls"}, "\"cassandra:\"", "sqlite:"},
    {{"--store", "leases.db", "ls"}, "\"leases.db\"", "sqlite:PATH"},
    {{"--store", "sqlite:", "ls"}, "sqlite:", "sqlite:PATH"},
    {{"--store", "sqlite:x.db?frob=1", "run", "k", "true"}, "\"frob\"", "table="},
    {{"--store", "sqlite:x.db?table=a;b", "run", "k", "true"}, "a;b", "letters"},
    {{"ls", "--store"}, "\"--store\"", "needs a value"},
};

using BadInput = Home;

TEST_F(BadInput, is_one_sentence_and_64_and_leaves_nothing) {
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(::testing::PrintToString(mistake.words));
    const Ended ended = holdfast(mistake.words);
    EXPECT_EQ(ended.code, 64) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("holdfast: "));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(mistake.names));
    EXPECT_THAT(ended.err, HasSubstr(mistake.right));
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(BadInput, a_cmd_that_is_not_found_is_127_and_the_lease_is_free) {
  for (const std::string cmd : {"no-such-program", "./no-such-program", "/etc/passwd/x"}) {
    const Ended ended = holdfast({"run", "k", "--", cmd});
    EXPECT_EQ(ended.code, 127);
    EXPECT_THAT(ended.err, StartsWith("holdfast: cannot run \"" + cmd + "\": "));
    EXPECT_THAT(ended.err, HasSubstr("PATH"));
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(BadInput, a_cmd_that_cannot_be_executed_is_126_and_the_lease_is_free) {
  for (const std::string cmd : {"/etc/passwd", "/etc"}) {
    const Ended ended = holdfast({"run", "k", "--", cmd});
    EXPECT_EQ(ended.code, 126);
    EXPECT_THAT(ended.err, StartsWith("holdfast: cannot run \"" + cmd + "\": "));
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(Home, an_empty_HOLDFAST_STORE_is_a_mistake_and_not_the_default) {
  environment_["HOLDFAST_STORE"] = "";
  const Ended ended = holdfast({"run", "k", "--", "true"});
  EXPECT_EQ(ended.code, 64);
  EXPECT_EQ(ended.err, "holdfast: HOLDFAST_STORE is empty; set it to the URL of a store, or unset it\n");
  EXPECT_TRUE(is_empty());
}

}  // namespace
}  // namespace holdfast::test
