// SPDX-License-Identifier: Apache-2.0
// What `top` does with each key: without a terminal.
#include "tests/cli/top.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using TopKeys = TopModel;

TEST_F(TopKeys, s_sorts_by_age_remaining_waiting_key_and_lag) {
  EXPECT_THAT(keys(), ElementsAre("b", "a", "c")) << "the oldest first";
  press("s");
  EXPECT_THAT(keys(), ElementsAre("a", "c", "b"));
  press("s");
  EXPECT_THAT(keys(), ElementsAre("c", "b", "a"));
  press("s");
  EXPECT_THAT(keys(), ElementsAre("a", "b", "c"));
  update({lease("a", "host:web1 pid:1 guid:0", 6s, noon), lease("b", "me", 30s, noon),
          lease("c", "you", 15s, noon)},
         5s);
  press("s");
  EXPECT_EQ(model_.order(), Order::lag);
  EXPECT_THAT(keys(), ElementsAre("c", "a", "b")) << "the latest first";
  press("s");
  EXPECT_EQ(model_.order(), Order::age);
}

TEST_F(TopKeys, s_sorts_free_keys_and_unknown_ages_to_the_end) {
  update({lease("free", "", 0ms, {}, 1), lease("unknown", "x", 10s, {}), lease("young", "y", 20s, noon)});
  EXPECT_THAT(keys(), ElementsAre("young", "free", "unknown"));
  press("s");
  EXPECT_THAT(keys(), ElementsAre("unknown", "young", "free"));
}

struct Move {
  const char* keys;
  const char* chosen;
};
TEST_F(TopKeys, move_the_choice_and_stop_at_the_ends) {
  for (const Move& move : {Move{"<down>", "a"},
                           {"<down><down>", "c"},
                           {"jj", "c"},
                           {"jjk", "a"},
                           {"<up>", "b"},
                           {"<end>", "c"},
                           {"<end><home>", "b"},
                           {"<pgdn>", "c"},
                           {"<pgdn><pgup>", "b"},
                           {"jjjjjj", "c"},
                           {"kkkk", "b"}}) {
    press("<home>");
    press(move.keys);
    EXPECT_EQ(chosen(), move.chosen) << move.keys;
  }
}

TEST_F(TopKeys, the_choice_stays_with_its_key_and_goes_to_a_neighbour_when_that_is_gone) {
  press("j");
  EXPECT_EQ(chosen(), "a");
  update(
      {lease("0", "x", 10s, noon - 2h), lease("a", "w", 10s, noon - 1min), lease("b", "me", 30s, noon - 1h)});
  EXPECT_EQ(chosen(), "a");
  update({lease("0", "x", 10s, noon - 2h), lease("b", "me", 30s, noon - 1h)});
  EXPECT_EQ(chosen(), "b");
  update({});
  EXPECT_TRUE(model_.rows().empty());
  press("<down><enter>b");
  EXPECT_EQ(model_.mode(), Model::Mode::list);
}

TEST_F(TopKeys, slash_filters_while_one_types_by_key_holder_and_note) {
  press("/web");
  EXPECT_THAT(keys(), ElementsAre("a"));
  press("<erase><erase><erase>slow<enter>");
  EXPECT_THAT(keys(), ElementsAre("c"));
  EXPECT_EQ(model_.mode(), Model::Mode::list);
  EXPECT_THAT(text(), HasSubstr("only slow"));
  press("<esc>");
  EXPECT_THAT(keys(), ElementsAre("b", "a", "c")) << "all again, though it was kept";
  press("/é<erase>");
  EXPECT_EQ(model_.filter(), "") << "a whole character";
  press("<esc>");
  EXPECT_THAT(keys(), ElementsAre("b", "a", "c"));
  press("/zzz");
  EXPECT_TRUE(model_.rows().empty());
  EXPECT_THAT(text(), HasSubstr("nothing matches"));
}

TEST_F(TopKeys, q_quits_r_refreshes_p_pauses_and_enter_inspects) {
  EXPECT_EQ(press("q").kind, TopAction::Kind::quit);
  EXPECT_EQ(press("r").kind, TopAction::Kind::refresh);
  press("p");
  EXPECT_TRUE(model_.paused());
  EXPECT_THAT(text(), HasSubstr("paused"));
  press("p");
  EXPECT_FALSE(model_.paused());
  const TopAction action = press("j<enter>");
  EXPECT_EQ(action.kind, TopAction::Kind::inspect);
  EXPECT_EQ(action.key, "a");
  EXPECT_EQ(press("q").kind, TopAction::Kind::nothing) << "only back";
  EXPECT_EQ(model_.mode(), Model::Mode::list);
  press("?");
  EXPECT_THAT(text(100, 24), HasSubstr("break a lease"));
  EXPECT_EQ(press("q").kind, TopAction::Kind::nothing);
  EXPECT_EQ(model_.mode(), Model::Mode::list);
}

TEST_F(TopKeys, b_breaks_only_with_a_reason_and_when_it_is_confirmed) {
  press("jb");
  EXPECT_THAT(text(), HasSubstr("Break the lease on a?"));
  EXPECT_THAT(text(), HasSubstr("web1 pid 1"));
  press("<enter>");
  EXPECT_EQ(model_.mode(), Model::Mode::reason) << "none is not enough";
  press("its host is gonx<erase>e<enter>");
  EXPECT_THAT(text(), HasSubstr("its host is gone"));
  EXPECT_THAT(screen().back(), StartsWith("type yes to break it: "));
  const TopAction action = press("yes<enter>");
  EXPECT_EQ(action.kind, TopAction::Kind::break_lease);
  EXPECT_EQ(action.key, "a");
  EXPECT_EQ(action.token, Token{7});
  EXPECT_EQ(action.reason, "its host is gone");
}

TEST_F(TopKeys, anything_else_leaves_the_lease_alone) {
  for (const char* keys :
       {"b<esc>", "bwhy<esc>", "bwhy<enter><enter>", "bwhy<enter>n<enter>", "bwhy<enter>y<enter>",
        "bwhy<enter>yesterday<enter>", "bwhy<enter>yes<esc>", "bq"}) {
    EXPECT_EQ(press(keys).kind, TopAction::Kind::nothing) << keys;
    press("<esc>");
    EXPECT_EQ(model_.mode(), Model::Mode::list) << keys;
  }
}

// A user who types "no" must not have typed the name of a key.
TEST_F(TopKeys, the_name_of_the_key_does_not_break_its_lease) {
  for (const std::string key : {"n", "no", "y", "nightly"}) {
    update({lease(key, "h", 10s, noon)});
    press("bwhy<enter>");
    EXPECT_EQ(press(key + "<enter>").kind, TopAction::Kind::nothing) << key;
    EXPECT_EQ(screen().back(), key + " was not broken: you did not type yes");
  }
  update({lease("yes", "h", 10s, noon)});
  EXPECT_EQ(press("bwhy<enter>yes<enter>").kind, TopAction::Kind::break_lease);
}

TEST_F(TopKeys, in_an_inspection_b_breaks_and_comes_back_there_and_r_asks_again) {
  press("j<enter>");
  const LeaseRow shown = model_.rows()[1].lease;
  model_.update(Inspection{model_.rows()[0].lease, {}, {}});
  EXPECT_FALSE(model_.inspection()) << "an answer about another key";
  model_.update(Inspection{shown, {}, {}});
  EXPECT_EQ(press("r").kind, TopAction::Kind::inspect);
  press("bwhy<esc>");
  EXPECT_EQ(model_.mode(), Model::Mode::inspect);
  press("b");
  EXPECT_EQ(model_.typed(), "") << "of the one before";
  const TopAction action = press("why<enter>yes<enter>");
  EXPECT_EQ(action.kind, TopAction::Kind::break_lease);
  EXPECT_EQ(action.key, "a");
  EXPECT_EQ(model_.mode(), Model::Mode::inspect);
}

TEST_F(TopKeys, no_text_is_longer_than_a_key_may_be) {
  press("/" + std::string(600, 'x'));
  EXPECT_EQ(model_.filter().size(), 512u);
  press("<esc>b" + std::string(600, 'x'));
  EXPECT_EQ(model_.typed().size(), 512u);
}

TEST_F(TopKeys, b_on_a_key_that_cannot_be_broken_shows_why) {
  LeaseRow foreign = lease("f", "another", 10s, noon);
  foreign.token = no_token;
  update({foreign, lease("w", "", 0ms, {}, 2)});
  press("<home>b");
  EXPECT_THAT(screen().back(), HasSubstr("gives no token"));
  press("<end>b");
  EXPECT_THAT(screen().back(), HasSubstr("w is free"));
}

}  // namespace
}  // namespace holdfast::cli
