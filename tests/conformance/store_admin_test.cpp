// SPDX-License-Identifier: Apache-2.0
// What people do by hand to a store, on every store.
#include "holdfast/spi/descriptor.h"
#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

class StoreAdmins : public Conformance {
 protected:
  Purged purge(Ttl free_for = 0ms, Ttl log_older_than = never) {
    return a_.store().admin()->purge({free_for, log_older_than}, soon()).value();
  }
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    for (const LeaseRow& row : a_.list({}).leases) keys.push_back(row.key);
    return keys;
  }
  std::size_t log_size() { return a_.list({.what = Query::What::log}).log.size(); }
  // Nobody overtakes who waits.
  bool serves_in_order() {
    a_.acquire("fair", "ann");
    b_.acquire("fair", "bob", 1h, 1h);
    a_.release("fair", "ann");
    return c_.acquire("fair", "cat").verdict == Verdict::busy &&
           b_.acquire("fair", "bob").verdict == Verdict::granted;
  }
  using Keys = std::vector<std::string>;
};

TEST_P(StoreAdmins, a_purge_takes_what_is_free_and_leaves_what_is_held_or_waited_for) {
  a_.acquire("held", "ann");
  a_.acquire("endless", "ann", never);
  a_.acquire("released", "ann");
  a_.release("released", "ann");
  a_.acquire_and_let_expire("expired", "ann");
  a_.acquire("waited for", "ann");
  b_.acquire("waited for", "bob", 1h, 1h);
  a_.release("waited for", "ann");
  let_pass(1ms);  // a token is the clock in microseconds, and a key stays until the clock has passed it
  const Purged purged = purge();
  EXPECT_EQ(purged.keys, 2u);
  EXPECT_EQ(keys(), (Keys{"endless", "held", "waited for"}));
  EXPECT_EQ(a_.renew("held", "ann").verdict, Verdict::granted);
  EXPECT_EQ(b_.acquire("waited for", "bob").verdict, Verdict::granted);
}

TEST_P(StoreAdmins, a_purge_leaves_what_has_not_been_free_long_enough) {
  a_.acquire("k", "ann");
  a_.release("k", "ann");
  EXPECT_EQ(purge(1h).keys, 0u);
  EXPECT_EQ(purge(never).keys, 0u);
  EXPECT_EQ(keys(), Keys{"k"});
}

TEST_P(StoreAdmins, a_token_rises_across_a_purge) {
  const Reply first = a_.acquire("k", "ann");
  a_.release("k", "ann");
  let_pass(1ms);
  ASSERT_EQ(purge().keys, 1u);
  ASSERT_EQ(keys(), Keys{});
  EXPECT_GT(b_.acquire("k", "bob").token, first.token);
}

TEST_P(StoreAdmins, a_purge_counts_the_places_that_have_run_out) {
  a_.acquire("k", "ann");
  c_.acquire("k", "cat", 1h, 1h);
  b_.acquire("k", "bob", 1h, 2ms);  // last, because a later acquire would delete it
  let_pass(4ms);
  EXPECT_EQ(purge().places, 1u);
  EXPECT_EQ(purge().places, 0u);
}

TEST_P(StoreAdmins, a_purge_takes_what_was_written_down_only_if_it_is_asked_to) {
  const Token token = a_.acquire("k", "ann").token;
  b_.evict("k", token);
  ASSERT_EQ(log_size(), 1u);
  EXPECT_EQ(purge(0ms).log, 0u);
  EXPECT_EQ(purge(0ms, 1h).log, 0u);
  EXPECT_EQ(log_size(), 1u);
  EXPECT_EQ(purge(0ms, 0ms).log, 1u);
  EXPECT_EQ(log_size(), 0u);
}

TEST_P(StoreAdmins, a_purge_goes_through_tables_of_many_keys) {
  constexpr int count = 1234;  // more than any store takes in one step
  for (int i = 0; i < count; ++i) {
    const std::string key = "key " + std::to_string(i);
    a_.acquire(key, "ann");
    if (i % 2 == 0) a_.release(key, "ann");
  }
  let_pass(1ms);
  EXPECT_EQ(purge().keys, count / 2);
  EXPECT_EQ(keys().size(), std::size_t{count / 2});
}

TEST_P(StoreAdmins, nothing_is_missing_in_a_store_that_is_used_and_init_changes_nothing_there) {
  const Token token = a_.acquire("k", "ann").token;
  const auto admin = b_.store().admin();
  EXPECT_TRUE(admin->plan(soon()).value().empty());
  EXPECT_TRUE(admin->init(soon()).value().empty());
  EXPECT_EQ(a_.renew("k", "ann", token).verdict, Verdict::granted);
}

TEST_P(StoreAdmins, a_new_store_is_planned_then_made_once) {
  auto found = a_.store().in("others");
  if (database_->url().empty()) {  // memory
    ASSERT_FALSE(found) << "it has none, and says so";
    EXPECT_EQ(found.error().code, Errc::invalid);
    return;
  }
  const auto other = *std::move(found);
  const auto planned = other->admin()->plan(soon()).value();
  EXPECT_EQ(planned.empty(), !database_->has_tables());
  EXPECT_EQ(other->admin()->plan(soon()).value(), planned) << "a plan changes nothing";
  EXPECT_EQ(other->admin()->init(soon()).value(), planned);
  EXPECT_TRUE(other->admin()->plan(soon()).value().empty());
  EXPECT_TRUE(other->admin()->init(soon()).value().empty());
}

// Both ways: what it can do is claimed, and what is claimed it can do, unless this kind of it is known to
// lack that.  Of transactions this only compares two lists: the tests of PostgreSQL and SQLite show them.
TEST_P(StoreAdmins, its_store_is_what_the_descriptor_says) {
  const StoreDescriptor* const said = descriptor_of(a_.store().name());
  ASSERT_NE(said, nullptr) << a_.store().name();
  const Traits traits = a_.examine();
  EXPECT_EQ(descriptor_of(traits.name + ":"), said) << traits.name;
  const StoreCapabilities &can = said->capabilities, &lacks = GetParam().lacks;
  const auto agrees = [](bool shown, bool claimed, bool lacking) {
    return shown ? claimed && !lacking : !claimed || lacking;
  };
  EXPECT_TRUE(agrees(a_.listener() != nullptr, can.push, lacks.push));
  EXPECT_EQ(traits.push, a_.listener() != nullptr);
  EXPECT_TRUE(agrees(serves_in_order(), can.fair, lacks.fair));
  EXPECT_EQ(traits.fair, can.fair && !lacks.fair);
  // That nothing is lost is for the tests that kill its server.
  EXPECT_TRUE(agrees(traits.grade < Grade::C, can.durable, lacks.durable)) << to_string(traits.grade);
  EXPECT_TRUE(agrees(a_.store().jobs(soon()).has_value(), can.jobs, lacks.jobs));
  EXPECT_TRUE(agrees(GetParam().transactions, can.transactions, lacks.transactions));
  EXPECT_TRUE(said->tables == StoreTables::none || database_->has_tables());
}

TEST_P(StoreAdmins, a_place_says_who_waits) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.acquire("k", "cat", 1h, 1h);
  b_.acquire("k", "bob again", 1h, 1h);
  const auto places = a_.list({.what = Query::What::places, .prefix = "k", .exact = true}).places;
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].owner, "bob again");
  EXPECT_EQ(places[1].owner, "cat");
}

HOLDFAST_ON_EVERY_STORE_AND_SHEDLOCK(StoreAdmins);

}  // namespace
}  // namespace holdfast::test
