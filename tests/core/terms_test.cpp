// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

TEST(Terms, unset_options_have_the_defaults_of_the_header) {
  const Terms terms = settle({}, {});
  EXPECT_EQ(terms.ttl, 30s);
  EXPECT_EQ(terms.wait, 0ms);
  EXPECT_FALSE(terms.owner);
  EXPECT_EQ(terms.note, "");
  EXPECT_EQ(terms.attempts, 0);
  EXPECT_FALSE(terms.interval);
  EXPECT_TRUE(terms.fair);
  EXPECT_TRUE(terms.keep);
  EXPECT_EQ(terms.renew_every, 0ms);
  EXPECT_FALSE(terms.max_renewals);
  EXPECT_FALSE(terms.detached);
}

// Each field once: said by the call, by the defaults, and by both.
TEST(Terms, the_call_comes_before_the_defaults) {
  const auto ours = std::make_unique<std::stop_source>(), theirs = std::make_unique<std::stop_source>();
  ours->request_stop();
  const AcquireOptions defaults{.ttl = 20s,
                                .wait = 7s,
                                .stop = theirs->get_token(),
                                .owner = "default",
                                .note = "by default",
                                .attempts = 7,
                                .interval = 7ms,
                                .fair = false,
                                .keep = false,
                                .renew_every = 7s,
                                .max_renewals = 7,
                                .finished = [] { return true; },
                                .detached = true};
  const Terms unsaid = settle({}, defaults);
  EXPECT_EQ(unsaid.ttl, 20s);
  EXPECT_EQ(unsaid.wait, 7s);
  EXPECT_EQ(unsaid.stop, theirs->get_token());
  EXPECT_EQ(unsaid.owner, "default");
  EXPECT_EQ(unsaid.note, "by default");
  EXPECT_EQ(unsaid.attempts, 7);
  EXPECT_EQ(unsaid.interval(1), 7ms);
  EXPECT_FALSE(unsaid.fair);
  EXPECT_FALSE(unsaid.keep);
  EXPECT_EQ(unsaid.renew_every, 7s);
  EXPECT_EQ(unsaid.max_renewals, 7);
  EXPECT_TRUE(unsaid.finished());
  EXPECT_TRUE(unsaid.detached);

  const Terms said = settle({.ttl = 10s,
                             .wait = 0ms,
                             .stop = ours->get_token(),
                             .owner = "mine",
                             .note = "mine",
                             .attempts = 0,
                             .interval = 3ms,
                             .fair = true,
                             .keep = true,
                             .renew_every = 3s,
                             .max_renewals = 0,
                             .finished = [] { return false; },
                             .detached = false},
                            defaults);
  EXPECT_EQ(said.ttl, 10s);
  EXPECT_EQ(said.wait, 0ms);
  EXPECT_TRUE(said.stop.stop_requested());
  EXPECT_EQ(said.owner, "mine");
  EXPECT_EQ(said.note, "mine");
  EXPECT_EQ(said.attempts, 0);
  EXPECT_EQ(said.interval(1), 3ms);
  EXPECT_TRUE(said.fair);
  EXPECT_TRUE(said.keep);
  EXPECT_EQ(said.renew_every, 3s);
  EXPECT_EQ(said.max_renewals, 0);
  EXPECT_FALSE(said.finished());
  EXPECT_FALSE(said.detached);
}

TEST(Terms, a_default_that_does_not_fit_the_call_is_left_out) {
  const AcquireOptions defaults{.interval = 1s, .renew_every = 10s};
  EXPECT_EQ(settle({.ttl = 30s}, defaults).renew_every, 10s);
  EXPECT_EQ(settle({.ttl = 10s}, defaults).renew_every, 0ms) << "every third of the ttl";
  EXPECT_EQ(settle({.ttl = 10050ms}, defaults).renew_every, 0ms) << "it leaves nothing but the margin";
  EXPECT_EQ(settle({.ttl = 30s}, defaults, 20s).renew_every, 0ms);
  EXPECT_EQ(settle({.ttl = 30s, .renew_every = 0ms}, defaults).renew_every, 0ms) << "asked for";
  EXPECT_EQ(settle({.ttl = 10s, .renew_every = 20s}, defaults).renew_every, 20s) << "to be refused";
  EXPECT_FALSE(settle({}, defaults).interval);
  EXPECT_TRUE(settle({.wait = 1s}, defaults).interval);
  EXPECT_TRUE(settle({.attempts = 2}, defaults).interval);
  EXPECT_TRUE(settle({.interval = 1s}, {}).interval) << "to be refused";
}

TEST(Terms, a_call_that_does_not_wait_is_not_made_to_by_the_schedule_of_its_client) {
  const AcquireOptions defaults{.attempts = 100, .interval = 1s};
  EXPECT_EQ(settle({}, defaults).attempts, 100);
  EXPECT_EQ(settle({.wait = 0s}, defaults).attempts, 0);
  EXPECT_FALSE(settle({.wait = 0s}, defaults).interval);
  EXPECT_EQ(settle({.wait = 0s, .attempts = 3}, defaults).attempts, 3);
  EXPECT_EQ(settle({.wait = forever}, defaults).attempts, 100) << "whichever ends first";
}

TEST(Terms, finished_is_called_at_most_ten_times_by_default) {
  const auto no = [] { return false; };
  EXPECT_EQ(settle({.finished = no}, {}).max_renewals, 10);
  EXPECT_EQ(settle({.max_renewals = 3, .finished = no}, {}).max_renewals, 3);
  EXPECT_EQ(settle({.ttl = 10s, .renew_every = 2s, .finished = no}, {}).renew_every, 2s);
}

TEST(Terms, an_owner_is_a_text_a_list_or_a_function) {
  const auto owner_of = [](const AcquireOptions& options) { return settle(options, {}).owner; };
  EXPECT_EQ(owner_of({.owner = "me"}), "me");
  EXPECT_EQ(owner_of({.owner = std::string("me")}), "me");
  EXPECT_EQ(owner_of({.owner = {"my", "owner", "id"}}), "my:owner:id");
  EXPECT_EQ(owner_of({.owner = {"", "b"}}), ":b");
  EXPECT_EQ(owner_of({.owner = std::vector<std::string>{"my", "id"}}), "my:id");
  EXPECT_EQ(owner_of({.owner = [] { return "text"; }}), "text");
  EXPECT_EQ(owner_of({.owner = [] { return std::string_view("view"); }}), "view");
  const char* const unset = nullptr;
  EXPECT_EQ(owner_of({.owner = unset}), "") << "to be refused";
  static_assert(!std::is_constructible_v<Owner, std::nullptr_t>);
  int asked = 0;
  const AcquireOptions counted{.owner = [&asked] { return std::to_string(++asked); }};
  EXPECT_EQ(asked, 0) << "only when it is needed";
  EXPECT_EQ(owner_of(counted), "1");
  EXPECT_EQ(owner_of(counted), "2") << "anew for each acquisition";
  EXPECT_EQ(owner_of({.owner = ""}), "") << "to be refused, not taken for a new name";
  EXPECT_FALSE(owner_of({}));
}

}  // namespace
}  // namespace holdfast::core
