// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::string_literals;

TEST(Text, utf8_is_recognised) {
  const struct {
    std::string text;
    bool utf8;
    const char* what;
  } table[] = {
      {"", true, "nothing"},
      {"plain", true, "ASCII"},
      {"a\0b"s, true, "NUL"},
      {"\x7f", true, "DEL"},
      {"\xc2\x80", true, "U+0080, the first of two bytes"},
      {"\xdf\xbf", true, "U+07FF"},
      {"\xe0\xa0\x80", true, "U+0800, the first of three bytes"},
      {"\xed\x9f\xbf", true, "U+D7FF, before the surrogates"},
      {"\xee\x80\x80", true, "U+E000, behind the surrogates"},
      {"\xef\xbf\xbf", true, "U+FFFF"},
      {"\xf0\x90\x80\x80", true, "U+10000, the first of four bytes"},
      {"\xf4\x8f\xbf\xbf", true, "U+10FFFF, the last"},
      {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92", true, "a mixture"},
      {"\x80", false, "a continuation alone"},
      {"\xbf", false, "a continuation alone"},
      {"\xc0\x80", false, "NUL, overlong"},
      {"\xc1\xbf", false, "DEL, overlong"},
      {"\xe0\x80\x80", false, "NUL, overlong in three bytes"},
      {"\xe0\x9f\xbf", false, "U+07FF, overlong"},
      {"\xf0\x8f\xbf\xbf", false, "U+FFFF, overlong"},
      {"\xed\xa0\x80", false, "U+D800, a surrogate"},
      {"\xed\xbf\xbf", false, "U+DFFF, a surrogate"},
      {"\xf4\x90\x80\x80", false, "U+110000"},
      {"\xf7\xbf\xbf\xbf", false, "far past the end"},
      {"\xf8\x88\x80\x80\x80", false, "five bytes"},
      {"\xfe", false, "FE"},
      {"\xff", false, "FF"},
      {"\xc3", false, "two bytes, truncated"},
      {"a\xe2\x82", false, "three bytes, truncated"},
      {"\xf0\x9f\x94", false, "four bytes, truncated"},
      {"\xc3(", false, "two bytes, broken"},
      {"\xe2(\xa1", false, "three bytes, broken"},
      {"\xe2\x82(", false, "three bytes, broken at the end"},
      {"\xf0\x9f\x94(", false, "four bytes, broken at the end"},
      {"good\xffgood", false, "one bad byte between good ones"},
  };
  for (const auto& row : table) EXPECT_EQ(is_utf8(row.text), row.utf8) << row.what;
}

TEST(Text, printable_leaves_what_can_be_shown_and_escapes_the_rest) {
  const struct {
    std::string text;
    std::string_view shown;
  } table[] = {
      {"", ""},
      {"plain text", "plain text"},
      {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92"},
      {"a\0b"s, "a\\x00b"},
      {"line\nline\r\t", "line\\x0aline\\x0d\\x09"},
      {"\x1b[2J", "\\x1b[2J"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // CSI as one character
      {"\xc2\xa0", "\\xc2\\xa0"},  // a space that is none
      {"\xc2\xa1", "\xc2\xa1"},    // the first behind the controls
      {"\xe2\x80\xae"
       "evil",
       "\\xe2\\x80\\xae"
       "evil"},  // writes the rest from right to left
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
      {"\xd8\x9c", "\\xd8\\x9c"},
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},                // a line separator
      {"night\xe2\x80\x8bly", "night\\xe2\\x80\\x8bly"},  // a space of no width
      {"nightly\xef\xbb\xbf", "nightly\\xef\\xbb\\xbf"},
      {"night\xc2\xadly", "night\\xc2\\xadly"},
      {"night\xe2\x81\xa0ly", "night\\xe2\\x81\\xa0ly"},
      {"\xe3\x85\xa4", "\\xe3\\x85\\xa4"},
      {"\xef\xb8\x8f", "\\xef\\xb8\\x8f"},
      {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"},
      {"\xe3\x80\x80", "\\xe3\\x80\\x80"},
      {"\xff\xc3", "\\xff\\xc3"},
      {"\xe2\x82z", "\\xe2\\x82z"},
  };
  for (const auto& row : table) EXPECT_EQ(printable(row.text), row.shown);
}

// Decoded by hand, apart from the code under test: C0, DEL, and C1 as two bytes.
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

void expect_fit_to_show(const std::string& text) {
  const std::string shown = printable(text);
  ASSERT_FALSE(has_control(shown)) << shown;
  ASSERT_TRUE(is_utf8(shown)) << shown;
  ASSERT_EQ(printable(shown), shown);
  ASSERT_GE(shown.size(), text.size());
}

TEST(Text, printable_leaves_no_control_character_in_any_string_of_one_or_two_bytes) {
  for (int first = 0; first < 256; ++first) {
    expect_fit_to_show({static_cast<char>(first)});
    for (int second = 0; second < 256; ++second) {
      expect_fit_to_show({static_cast<char>(first), static_cast<char>(second)});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Text, a_command_names_the_store_so_that_a_shell_takes_it_as_one_word) {
  EXPECT_EQ(store_command("redis://db:6379/1", "init"), "holdfast --store redis://db:6379/1 init");
  EXPECT_EQ(store_command("mariadb://app@db/app?table=jobs&layout=darwin", "init --dry-run"),
            "holdfast --store 'mariadb://app@db/app?table=jobs&layout=darwin' init --dry-run");
  EXPECT_EQ(store_command("sqlite:it's.db", "doctor"), "holdfast --store 'sqlite:it'\\''s.db' doctor");
}

TEST(Substitute, replaces_every_name_and_nothing_else) {
  const auto shout = [](std::string_view word) { return "<" + std::string(word) + ">"; };
  EXPECT_EQ(substitute("", shout), "");
  EXPECT_EQ(substitute("no words", shout), "no words");
  EXPECT_EQ(substitute("{a} and {b}{a}.", shout), "<a> and <b><a>.");
}

TEST(Substitute, does_not_replace_inside_replaced_text) {
  EXPECT_EQ(substitute("{a}", [](std::string_view) { return "{a}"; }), "{a}");
}

TEST(JsonDepth, lists_and_objects_count_and_what_stands_in_quotes_does_not) {
  const struct {
    const char* text;
    int depth;
  } table[] = {
      {"", 0},
      {"1", 0},
      {"[]", 1},
      {"[1,2],[3]", 1},
      {R"([{"a":[1]},{}])", 3},
      {R"(["[[[[", "]]{"])", 1},
      {R"(["\"[[", [1]])", 2},
      {R"(["\\", [[1]]])", 3},
      {"[[[", 3},
      {R"(["[[[)", 1},
  };
  for (const auto& [text, depth] : table) EXPECT_EQ(json_depth(text), depth) << text;
}

}  // namespace
}  // namespace holdfast
