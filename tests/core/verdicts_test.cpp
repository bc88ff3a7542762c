// SPDX-License-Identifier: Apache-2.0
#include "core/verdicts.h"

#include <gtest/gtest.h>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

constexpr OwnerView ann{"ann"};
constexpr Token before{4}, mine{5}, later{6};

TEST(Verdicts, a_release_says_what_it_found) {
  const struct {
    const char* what;
    Reply reply;
    Token named;
    Released is;
  } table[] = {
      {"it was held", {Verdict::released, mine}, mine, Released::released},
      {"it was held, whichever", {Verdict::released, mine}, no_token, Released::released},
      {"the key is new to the store", {Verdict::lost, no_token}, mine, Released::never_held},
      {"the key is new to the store, whichever", {Verdict::lost, no_token}, no_token, Released::never_held},
      {"released before", {Verdict::lost, mine, ""}, mine, Released::already_released},
      {"released before, whichever", {Verdict::lost, mine, ""}, no_token, Released::already_released},
      {"it ran out", {Verdict::lost, mine, "ann", 0ms}, mine, Released::expired},
      {"it ran out, whichever", {Verdict::lost, mine, "ann", 0ms}, no_token, Released::expired},
      {"another holds it", {Verdict::lost, later, "bob", 5s}, mine, Released::stolen},
      {"another held it and let it run out", {Verdict::lost, later, "bob", 0ms}, mine, Released::stolen},
      {"another held and released it", {Verdict::lost, later, "", 0ms}, mine, Released::stolen},
      {"the same name holds a later grant", {Verdict::lost, later, "ann", 5s}, mine, Released::stolen},
      {"another holds it, whichever", {Verdict::lost, later, "bob", 5s}, no_token, Released::never_held},
  };
  for (const auto& row : table) EXPECT_EQ(released_by(row.reply, ann, row.named), row.is) << row.what;
}

TEST(Verdicts, a_lost_renewal_says_why) {
  const struct {
    const char* what;
    Reply reply;
    Loss why;
    std::string_view words;
  } table[] = {
      {"another holds it", {Verdict::lost, later, "bob", 5s}, Loss::stolen, "taken over by bob"},
      {"another holds it, shown safely",
       {Verdict::lost, later, "b\x1b[2J", 5s},
       Loss::stolen,
       "taken over by b\\x1b[2J"},
      {"another held it since",
       {Verdict::lost, later, "bob", 0ms},
       Loss::stolen,
       "granted to another owner since"},
      {"another released it since",
       {Verdict::lost, later, "", 0ms},
       Loss::stolen,
       "granted to another owner since"},
      {"our name was granted it since",
       {Verdict::lost, later, "ann", 5s},
       Loss::stolen,
       "granted to another owner since"},
      {"the store forgot the key", {Verdict::lost, no_token, "", 0ms}, Loss::gone, "no record of the lease"},
      {"it ran out", {Verdict::lost, mine, "ann", 0ms}, Loss::gone, "had expired"},
      {"released behind our back", {Verdict::lost, mine, "", 0ms}, Loss::gone, "released by somebody else"},
      {"the store went back in time", {Verdict::lost, before, "ann", 0ms}, Loss::gone, "had expired"},
  };
  for (const auto& row : table) {
    const Lost lost = lost_by(row.reply, ann, mine);
    EXPECT_EQ(lost.reason, row.why) << row.what;
    EXPECT_NE(lost.detail.find(row.words), std::string::npos) << lost.detail;
  }
}

LogRow row(std::string event, Token token, std::string by, std::string reason = "") {
  return {.key = "k",
          .event = std::move(event),
          .owner = "ann",
          .token = token,
          .by = std::move(by),
          .reason = std::move(reason)};
}

TEST(Verdicts, the_log_says_who_broke_or_took_it) {
  const struct {
    const char* what;
    std::vector<LogRow> log;  // newest first
    Loss why;
    std::string_view detail;
  } table[] = {
      {"an empty log", {}, Loss::gone, "as it was"},
      {"others' grants only",
       {row("broken", later, "eve"), row("broken", before, "eve")},
       Loss::gone,
       "as it was"},
      {"an event we do not know", {row("purged", mine, "eve")}, Loss::gone, "as it was"},
      {"broken", {row("broken", mine, "eve")}, Loss::broken, "broken by eve"},
      {"broken for a reason", {row("broken", mine, "eve", "stuck")}, Loss::broken, "broken by eve: stuck"},
      {"taken over", {row("taken-over", mine, "bob")}, Loss::stolen, "taken over by bob"},
      {"behind others' rows",
       {row("broken", later, "x"), row("broken", mine, "eve")},
       Loss::broken,
       "broken by eve"},
      {"shown safely", {row("broken", mine, "e\nve", "\x1b")}, Loss::broken, "broken by e\\x0ave: \\x1b"},
  };
  for (const auto& r : table) {
    Lost lost{Loss::gone, "as it was"};
    set_reason_from_log(lost, Page{.leases = {}, .places = {}, .log = r.log}, {"ann"}, mine);
    EXPECT_EQ(lost.reason, r.why) << r.what;
    EXPECT_EQ(lost.detail, r.detail) << r.what;
  }
}

}  // namespace
}  // namespace holdfast::core
