// SPDX-License-Identifier: Apache-2.0
// A password that we were given is in nothing that a command says, whatever happens.
#include <csignal>

#include "tests/cli/secrets.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Addresses with the canary in them, whose servers are not there.
struct Address {
  const char* name;
  const char* before;
  const char* behind;
};
void PrintTo(const Address& address, std::ostream* out) { *out << address.name; }
constexpr Address addresses[] = {
    {"postgres", "postgres://me:", "@127.0.0.1:1/db"},
    {"redis", "redis://:", "@127.0.0.1:1"},
    {"mongodb", "mongodb://me:", "@127.0.0.1:1/db"},
    {"mongodb_properties", "mongodb://127.0.0.1:1/db?authMechanismProperties=AWS_SESSION_TOKEN:", ""},
    {"mariadb", "mariadb://me:", "@127.0.0.1:1/db"},
    {"mysql_parameter", "mysql://127.0.0.1:1/d?password=", ""},
    {"nonsense", "nonsense password=", ""},
    {"sqlite_parameter", "sqlite:x.db?token=", ""},
    {"sqlite_path", "sqlite:a password=", ""},
    {"sqlite_letter", "sqlite:letter password=", ""},
};
class SecretsIn : public Secrets, public ::testing::WithParamInterface<Address> {};
INSTANTIATE_TEST_SUITE_P(Address, SecretsIn, ::testing::ValuesIn(addresses),
                         [](const auto& param_info) { return param_info.param.name; });

TEST_P(SecretsIn, no_command_says_it_whatever_happens) {
  const std::vector<Words> commands = {{"ls"},
                                       {"show", "k"},
                                       {"acquire", "-w", "100ms", "k", "--owner", "me"},
                                       {"renew", "k", "--owner", "me"},
                                       {"release", "k", "--owner", "me"},
                                       {"run", "-w", "100ms", "k", "true"},
                                       {"wait", "-w", "100ms", "k"},
                                       {"init"},
                                       {"init", "--dry-run"},
                                       {"purge"},
                                       {"break", "k", "--token", "1", "--reason", "x"},
                                       {"config"},
                                       {"help"},
                                       {"version"}};
  std::ofstream(path("letter password=") + canary)
      << "this is a letter and not a database, and not a short one";
  const std::string url = std::string(GetParam().before) + canary + GetParam().behind;
  for (const Words& words : commands) {
    for (const Way way : {Way::option, Way::option_with_equals, Way::environment}) {
      SCOPED_TRACE(url + " " + words.front());
      expect_nothing_in(holdfast(given(way, url, words)));
      Words json = words;
      json.insert(json.begin() + 1, "--json");
      expect_nothing_in(holdfast(given(way, url, json)));
    }
  }
}

class SecretsOf : public Secrets, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(StoreConnection, SecretsOf,
                         ::testing::Values("postgres", "redis", "mongodb", "mariadb"),
                         [](const auto& param_info) { return std::string(param_info.param); });

// Whoever knows it or not: no command, no store and no way to give it makes it show.
TEST_P(SecretsOf, however_it_was_given_no_command_says_it_when_the_server_is_dead) {
  const std::vector<Words> commands = {{"run", "-w", "100ms", "k", "--", "env"},
                                       {"ls", "--json"},
                                       {"show", "k"},
                                       {"doctor"},
                                       {"config"},
                                       {"config", "--json"},
                                       {"config", "k"},
                                       {"jobs", "ls"},
                                       {"explain", "k"},
                                       {"help", "run"}};
  for (const Planted& planted : plants(GetParam())) {
    for (const Words& command : commands) {
      SCOPED_TRACE(std::string(planted.name) + ": " + ::testing::PrintToString(command));
      forget();
      Words words = command;
      planted.plant(words);
      const Ended ended = holdfast(words);
      expect_nothing_in(ended);
      if (command[0] == "config" || command[0] == "help")
        EXPECT_EQ(ended.code, 0) << ended.err;
      else
        EXPECT_NE(ended.code, 0);
    }
  }
}

TEST_F(Secrets, however_it_was_given_config_shows_that_there_is_one_and_not_which) {
  for (const Planted& planted : plants("postgres")) {
    SCOPED_TRACE(planted.name);
    forget();
    Words words{"config"};
    planted.plant(words);
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::string_view name = planted.name;
    const std::string shown = name == "@FILE"                     ? "@" + path("url")
                              : name == "password-file"           ? "password in " + path("secret")
                              : name == "PGPASSWORD or MYSQL_PWD" ? "me@127.0.0.1"
                                                                  : "***";
    EXPECT_THAT(ended.out, HasSubstr(shown));
  }
}

TEST_F(Secrets, what_looks_again_and_again_does_not_show_it) {
  for (const Way way : ways) {
    const Words store = given(way, secret_url(), {});
    const auto with_store = [&](const Words& words) {
      Words all = store;
      all.insert(all.end(), words.begin(), words.end());
      return all;
    };
    for (const Words& words : {Words{"watch", "--interval", "100ms"}, Words{"ls", "--watch"}}) {
      SCOPED_TRACE(words.front() + " " + std::to_string(static_cast<int>(way)));
      Process watching = start(with_store(words));
      ASSERT_TRUE(await([&] {
        EXPECT_EQ(holdfast(with_store({"run", "seen", "sleep", "0.2"})).code, 0);
        return watching.has_ended() || watching.out().find("seen") != std::string::npos;
      }));
      for (const pid_t pid : session_of(watching.pid())) {
        for (const char* const file : {"cmdline", "environ", "status"})
          EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
      }
      watching.signal(SIGINT);
      watching.wait();
      expect_nothing_in({0, watching.out(), watching.err()});
    }
  }
}

TEST_F(Secrets, a_mistake_beside_it_does_not_show_it) {
  const std::string url = std::string("postgres://me:") + canary + "@127.0.0.1:1/db";
  for (const Words& words :
       {Words{"--stoer", url, "ls"}, Words{"ls", url, "more"}, Words{url}, Words{"run", "--store", url},
        Words{"--store", url, "frobnicate"}, Words{"run", "k", "--ttl", url, "true"},
        Words{"run", "-w", url, "k", "true"}, Words{"run", "-E", url, "k", "true"},
        Words{"ls", "--sort", url}, Words{"break", "k", "--token", url, "--reason", "x"}, Words{"help", url},
        Words{"purge", "--older-than", url}}) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    EXPECT_NE(ended.code, 0);
    expect_nothing_in(ended);
  }
}

}  // namespace
}  // namespace holdfast::test
