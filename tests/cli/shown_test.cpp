// SPDX-License-Identifier: Apache-2.0
// Names that are made to deceive, on a terminal and in JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Shown = Home;

TEST_F(Shown, invisible_characters_distinguish_keys_and_owners) {
  ASSERT_EQ(holdfast({"acquire", "nightly", "--owner", "ann"}).code, 0);
  ASSERT_EQ(holdfast({"acquire", "night\xe2\x80\x8bly", "--owner", "an\xc2\xadn"}).code, 0);
  const std::string listed = holdfast({"ls"}).out;
  EXPECT_THAT(listed, HasSubstr("\nnight\\xe2\\x80\\x8bly  an\\xc2\\xadn (detached)  "));
  EXPECT_THAT(holdfast({"run", "-n", "night\xe2\x80\x8bly", "true"}).err, HasSubstr("\\xe2\\x80\\x8b"));
}

TEST_F(Shown, an_owner_that_was_given_is_not_taken_for_a_process) {
  for (const std::string owner : {"db1 pid 4242", "db1 pid 4242 (detached)", "host:db1 pid:4242",
                                  "host:db1 pid 1 pid:4242 guid:0", "host:db1 pid:none guid:0"}) {
    ASSERT_EQ(holdfast({"acquire", "k", "--owner", owner}).code, 0) << owner;
    EXPECT_THAT(holdfast({"ls"}).out, HasSubstr("\nk    \"" + owner + "\" (detached)  "));
    EXPECT_THAT(holdfast({"run", "-n", "k", "true"}).err, HasSubstr("k is held by \"" + owner + "\" ("));
    EXPECT_TRUE(json::parse(holdfast({"ls", "--json"}).out)["pid"].is_null()) << owner;
    ASSERT_EQ(holdfast({"release", "k", "--owner", owner}).code, 0);
  }
}

// The second byte of this letter is CSI on a terminal of eight bits, which would clear its screen then.
TEST_F(Shown, a_terminal_that_is_not_set_to_utf8_gets_no_byte_of_a_longer_character) {
  const std::string key =
      "\xc4\x9b"
      "2J";
  ASSERT_EQ(holdfast({"acquire", key, "--owner", "me", "--ttl", "1h"}).code, 0);
  const auto seen = [&](const char* variable, const char* locale, const Words& words) {
    Process::Plan on_terminal = holdfast_plan(words);
    on_terminal.on_terminal = true;
    on_terminal.environment["LANG"] = "C.UTF-8";
    on_terminal.environment[variable] = locale;
    Process process(on_terminal);
    EXPECT_NE(process.wait(), -1);
    return process.out();
  };
  for (const Words& words : {Words{"ls"},
                             {"show", key},
                             {"run", "-n", key, "true"},
                             {"run", "-w", "400ms", key, "true"},
                             {"release", key, "--owner", "you"}}) {
    EXPECT_THAT(seen("LANG", "C", words), HasSubstr("?2J"));
    for (const auto& [variable, locale] :
         {std::pair("LANG", "C"), {"LANG", "de_DE.ISO-8859-1"}, {"LC_CTYPE", "POSIX"}, {"LC_ALL", "cs_CZ"}}) {
      const std::string out = seen(variable, locale, words);
      EXPECT_TRUE(
          std::all_of(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
          << locale << ": " << out;
    }
    for (const auto& [variable, locale] : {std::pair("LC_ALL", "cs_CZ.utf8"), {"LC_ALL", ""}})
      EXPECT_THAT(seen(variable, locale, words), HasSubstr(key)) << locale;
  }
  EXPECT_THAT(seen("LANG", "C.UTF-8", {"ls", "--json"}), HasSubstr("\"\\u011b2J\""));
  environment_["LANG"] = "C";
  EXPECT_THAT(holdfast({"ls"}).out, HasSubstr(key)) << "what is no terminal gets it whole";
}

// DEL, CSI as one character, an order that is turned round, nothing at all, and an ordinary letter.
constexpr const char* playful = "k\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\x8b\xc3\xbc\xf3\xa0\x81\x81";

TEST_F(Shown, json_is_ascii_and_says_the_same) {
  const std::string text = playful;
  const auto expect_plain = [](const Ended& ended) {
    EXPECT_NE(ended.out, "") << ended.err;
    for (const char c : ended.out) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n') << ended.out;
  };
  const Ended acquired = holdfast({"--json", "acquire", text, "--owner", text, "--note", text});
  expect_plain(acquired);
  EXPECT_EQ(json::parse(acquired.out)["owner"], text);
  const Ended listed = holdfast({"--json", "ls"}), shown = holdfast({"--json", "show", text});
  for (const Ended& ended : {listed, shown}) {
    expect_plain(ended);
    for (const char* const field : {"key", "owner", "note"})
      EXPECT_EQ(json::parse(ended.out)[field], text) << field;
  }
  const std::string token = json::parse(acquired.out)["token"].dump();
  expect_plain(holdfast({"--json", "renew", text, "--owner", text}));
  expect_plain(holdfast({"--json", "break", text, "--token", token, "--reason", text}));
  const Ended explained = holdfast({"--json", "explain", text});
  expect_plain(explained);
  EXPECT_THAT(explained.out, HasSubstr("broken"));
  expect_plain(holdfast({"--json", "release", text, "--owner", text}));
  ASSERT_EQ(holdfast({"acquire", text, "--owner", text}).code, 0);
  Process watching = start({"--json", "watch"});
  ASSERT_TRUE(watching.await_out("\n")) << watching.err();
  expect_plain({0, watching.out(), watching.err()});
}

}  // namespace
}  // namespace holdfast::test
