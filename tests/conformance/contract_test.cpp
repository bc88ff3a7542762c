// SPDX-License-Identifier: Apache-2.0
// The table of store.h, row by row, on every store.
#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

TEST_P(Conformance, a_free_key_is_granted_with_a_token) {
  const Reply r = a_.acquire("k", "ann");
  EXPECT_EQ(r.verdict, Verdict::granted);
  EXPECT_GT(to_number(r.token), 0u);
  EXPECT_EQ(r.owner, "ann");
  EXPECT_GT(r.remaining, 59min);
  EXPECT_LE(r.remaining, 1h);
}

TEST_P(Conformance, a_held_key_is_busy_and_says_who_holds_it) {
  const Reply mine = a_.acquire("k", "ann");
  const Reply r = b_.acquire("k", "bob");
  EXPECT_EQ(r.verdict, Verdict::busy);
  EXPECT_EQ(r.owner, "ann");
  EXPECT_EQ(r.token, mine.token);
  EXPECT_GT(r.remaining, 59min);
}

TEST_P(Conformance, acquiring_what_one_holds_gives_the_same_token_and_never_shortens) {
  const Reply first = a_.acquire("k", "ann", 1min);
  const Reply again = b_.acquire("k", "ann", 1h);
  EXPECT_EQ(again.verdict, Verdict::granted);
  EXPECT_EQ(again.token, first.token);
  EXPECT_GT(again.remaining, 59min);
  // One that was held up on its way must not take back what a renewal has given.
  EXPECT_GT(a_.acquire("k", "ann", 1min).remaining, 59min);
  EXPECT_EQ(a_.acquire("k", "ann", never).remaining, never);
  EXPECT_EQ(a_.acquire("k", "ann", 1min).remaining, never);
}

TEST_P(Conformance, a_token_rises_across_release) {
  const Reply first = a_.acquire("k", "ann");
  a_.release("k", "ann");
  EXPECT_GT(b_.acquire("k", "bob").token, first.token);
}

TEST_P(Conformance, a_token_rises_across_expiry) {
  const Reply first = a_.acquire_and_let_expire("k", "ann");
  const Reply second = b_.acquire("k", "bob");
  EXPECT_EQ(second.verdict, Verdict::granted);
  EXPECT_GT(second.token, first.token);
}

TEST_P(Conformance, a_token_rises_when_the_same_holder_comes_back_after_expiry) {
  const Reply first = a_.acquire_and_let_expire("k", "ann");
  EXPECT_GT(a_.acquire("k", "ann").token, first.token);
}

TEST_P(Conformance, renewing_extends_and_keeps_the_token) {
  const Reply mine = a_.acquire("k", "ann", 1min);
  const Reply r = a_.renew("k", "ann", mine.token, 1h);
  EXPECT_EQ(r.verdict, Verdict::granted);
  EXPECT_EQ(r.token, mine.token);
  EXPECT_GT(r.remaining, 59min);
}

TEST_P(Conformance, renewing_never_shortens) {
  a_.acquire("k", "ann", 1h);
  EXPECT_GT(a_.renew("k", "ann", no_token, 1min).remaining, 59min);
}

TEST_P(Conformance, extending_adds_to_what_is_stored) {
  a_.acquire("k", "ann", 1h);
  const Reply r = a_.extend("k", "ann", 1h);
  EXPECT_EQ(r.verdict, Verdict::granted);
  EXPECT_GT(r.remaining, 119min);
  EXPECT_LE(r.remaining, 2h);
}

TEST_P(Conformance, renewing_with_another_grants_token_is_lost) {
  const Reply mine = a_.acquire("k", "ann");
  EXPECT_EQ(a_.renew("k", "ann", Token{to_number(mine.token) - 1}).verdict, Verdict::lost);
  EXPECT_EQ(a_.renew("k", "ann", Token{to_number(mine.token) + 1}).verdict, Verdict::lost);
}

TEST_P(Conformance, renewing_what_is_absent_free_expired_or_anothers_is_lost) {
  EXPECT_EQ(a_.renew("absent", "ann").verdict, Verdict::lost);
  EXPECT_EQ(a_.renew("absent", "ann").token, no_token);
  const Reply freed = a_.acquire("free", "ann");
  a_.release("free", "ann");
  const Reply r = a_.renew("free", "ann");
  EXPECT_EQ(r.verdict, Verdict::lost);
  EXPECT_EQ(r.token, freed.token);
  EXPECT_EQ(r.remaining, 0ms);
  a_.acquire_and_let_expire("expired", "ann");
  const Reply late = a_.renew("expired", "ann");
  EXPECT_EQ(late.verdict, Verdict::lost);
  EXPECT_EQ(late.owner, "ann");
  EXPECT_EQ(late.remaining, 0ms);
  b_.acquire("theirs", "bob");
  const Reply theirs = a_.renew("theirs", "ann");
  EXPECT_EQ(theirs.verdict, Verdict::lost);
  EXPECT_EQ(theirs.owner, "bob");
  EXPECT_GT(theirs.remaining, 0ms);
}

TEST_P(Conformance, a_lost_renewal_does_not_resurrect) {
  a_.acquire_and_let_expire("k", "ann");
  a_.renew("k", "ann");
  EXPECT_EQ(b_.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_P(Conformance, releasing_frees_at_once) {
  const Reply mine = a_.acquire("k", "ann");
  const Reply r = a_.release("k", "ann", mine.token);
  EXPECT_EQ(r.verdict, Verdict::released);
  EXPECT_EQ(r.token, mine.token);
  EXPECT_EQ(b_.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_P(Conformance, releasing_twice_or_what_is_not_ours_is_lost_and_harmless) {
  const Reply mine = a_.acquire("k", "ann");
  a_.release("k", "ann");
  EXPECT_EQ(a_.release("k", "ann").verdict, Verdict::lost);
  EXPECT_EQ(a_.release("absent", "ann").verdict, Verdict::lost);
  b_.acquire("k", "bob");
  EXPECT_EQ(a_.release("k", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(a_.release("k", "bob", mine.token).verdict, Verdict::lost);  // an old grant's token
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::busy);
}

TEST_P(Conformance, anyone_who_knows_the_holders_name_may_renew_and_release) {
  a_.acquire("k", "ann");
  EXPECT_EQ(b_.renew("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(b_.release("k", "ann").verdict, Verdict::released);
}

TEST_P(Conformance, a_lease_without_end_stays_until_released) {
  const Reply mine = a_.acquire("k", "ann", never);
  EXPECT_EQ(mine.remaining, never);
  EXPECT_EQ(b_.acquire("k", "bob").remaining, never);
  EXPECT_EQ(a_.renew("k", "ann", mine.token, 1min).remaining, never);
  EXPECT_EQ(a_.extend("k", "ann", 1min).remaining, never);
  EXPECT_EQ(a_.release("k", "ann").verdict, Verdict::released);
  EXPECT_EQ(b_.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_P(Conformance, an_acquire_that_comes_after_its_time_grants_nothing) {
  const Request request{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h};
  Reply reply;
  const Status status = a_.connection().apply({&request, 1}, {&reply, 1}, BootClock::now() - 1ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_EQ(b_.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_P(Conformance, keys_are_compared_byte_by_byte) {
  const std::string longest(512, 'k');
  const std::string nearly = std::string(511, 'k') + 'l';
  for (const std::string& key :
       {std::string("Job"), std::string("job"), std::string("job "), std::string("jo"), std::string("j%b"),
        std::string("'; --"), std::string("na\xc3\xafve"), std::string("nai\xcc\x88ve"),
        std::string("\xf0\x9f\x94\x92"), longest, nearly}) {
    EXPECT_EQ(a_.acquire(key, "ann").verdict, Verdict::granted) << key;
  }
  EXPECT_EQ(b_.acquire("job", "bob").verdict, Verdict::busy);
}

TEST_P(Conformance, the_stores_clock_moves_forward) {
  const Reply first = a_.acquire("k", "ann");
  let_pass(2ms);
  EXPECT_GT(static_cast<std::int64_t>(a_.renew("k", "ann").now), static_cast<std::int64_t>(first.now));
}

TEST_P(Conformance, a_batch_is_answered_in_order_and_repeated_keys_take_effect_in_order) {
  const Request batch[] = {
      {.verb = Verb::acquire, .key = {"x"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"y"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"x"}, .owner = {"bob"}, .ttl = 1h},
      {.verb = Verb::release, .key = {"x"}, .owner = {"ann"}},
      {.verb = Verb::acquire, .key = {"x"}, .owner = {"bob"}, .ttl = 1h},
      {.verb = Verb::renew, .key = {"a"}, .owner = {"bob"}, .ttl = 1h},
  };
  Reply replies[6];
  ASSERT_TRUE(a_.connection().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
  EXPECT_EQ(replies[2].verdict, Verdict::busy);
  EXPECT_EQ(replies[3].verdict, Verdict::released);
  EXPECT_EQ(replies[4].verdict, Verdict::granted);
  EXPECT_GT(replies[4].token, replies[0].token);
  EXPECT_EQ(replies[5].verdict, Verdict::lost);
}

TEST_P(Conformance, an_empty_batch_is_fine) { EXPECT_TRUE(a_.connection().apply({}, {}, soon())); }

TEST_P(Conformance, evicting_needs_the_token_and_is_written_down) {
  const Reply mine = a_.acquire("k", "ann");
  EXPECT_EQ(b_.evict("k", Token{to_number(mine.token) - 1}, "wrong").verdict, Verdict::lost);
  EXPECT_EQ(a_.renew("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(b_.evict("k", mine.token, "host is gone").verdict, Verdict::released);
  EXPECT_EQ(a_.renew("k", "ann", mine.token).verdict, Verdict::lost);
  const Page page = a_.list({.what = Query::What::log, .prefix = "k", .exact = true});
  ASSERT_EQ(page.log.size(), 1u);
  EXPECT_EQ(page.log[0].event, "broken");
  EXPECT_EQ(page.log[0].owner, "ann");
  EXPECT_EQ(page.log[0].token, mine.token);
  EXPECT_EQ(page.log[0].by, "op");
  EXPECT_EQ(page.log[0].reason, "host is gone");
  EXPECT_GT(b_.acquire("k", "bob").token, mine.token);
}

TEST_P(Conformance, a_take_over_is_written_down_and_a_plain_grant_is_not) {
  a_.acquire("k", "ann");
  a_.release("k", "ann");
  const Reply expired = a_.acquire_and_let_expire("k", "ann");
  b_.acquire("k", "bob");
  const Page page = a_.list({.what = Query::What::log});
  ASSERT_EQ(page.log.size(), 1u);
  EXPECT_EQ(page.log[0].event, "taken-over");
  EXPECT_EQ(page.log[0].owner, "ann");
  EXPECT_EQ(page.log[0].token, expired.token);
  EXPECT_EQ(page.log[0].by, "bob");
}

TEST_P(Conformance, listing_shows_what_is_held_in_order_by_prefix_and_by_page) {
  a_.ask({.verb = Verb::acquire, .key = {"job:2"}, .owner = {"ann"}, .ttl = 1h, .note = "two"});
  a_.ask({.verb = Verb::acquire, .key = {"job:1"}, .owner = {"ann"}, .ttl = Millis(never), .detached = true});
  a_.acquire("other", "bob");
  a_.acquire("job:3", "cat");
  a_.release("job:3", "cat");
  b_.acquire("job:2", "dan", 1h, 1h);
  const auto list = [&](Query q) { return b_.list(q).leases; };
  const auto rows = list({.prefix = "job:"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].key, "job:1");
  EXPECT_EQ(rows[0].remaining, never);
  EXPECT_TRUE(rows[0].detached);
  EXPECT_EQ(rows[1].owner, "ann");
  EXPECT_EQ(rows[1].note, "two");
  EXPECT_EQ(rows[1].waiting, 1u);
  EXPECT_TRUE(rows[1].since);
  EXPECT_EQ(rows[2].key, "job:3");
  EXPECT_EQ(rows[2].remaining, 0ms);
  EXPECT_EQ(rows[2].owner, "");
  EXPECT_EQ(list({}).size(), 4u);
  EXPECT_EQ(list({.prefix = "job:1", .exact = true}).size(), 1u);
  EXPECT_EQ(list({.prefix = "job", .exact = true}).size(), 0u);
  const auto second = list({.after = "job:1", .limit = 1});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].key, "job:2");
}

TEST_P(Conformance, a_list_can_leave_out_free_keys_that_nobody_waits_for) {
  a_.acquire("held", "ann");
  a_.acquire_and_let_expire("late", "ann");
  for (const char* key : {"given back", "waited for"}) a_.acquire(key, "ann");
  b_.acquire("waited for", "bob", 1h, 1h);
  for (const char* key : {"given back", "waited for"}) a_.release(key, "ann");
  const auto keys = [&](Query q) {
    std::vector<std::string> found;
    for (const LeaseRow& row : c_.list(q).leases) found.push_back(row.key);
    return found;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys({}), (Keys{"given back", "held", "late", "waited for"}));
  EXPECT_EQ(keys({.free = false}), (Keys{"held", "late", "waited for"}));
  EXPECT_EQ(keys({.free = false, .limit = 1}), (Keys{"held"}));
  EXPECT_EQ(keys({.after = "held", .free = false, .limit = 1}), (Keys{"late"}));
  EXPECT_EQ(keys({.prefix = "wait", .free = false}), (Keys{"waited for"}));
  EXPECT_EQ(keys({.prefix = "g", .free = false}), Keys{});
  EXPECT_EQ(keys({.prefix = "given back", .exact = true, .free = false}), (Keys{"given back"}));
}

TEST_P(Conformance, a_list_has_the_ttl_of_the_last_grant_or_renewal) {
  const auto ttl = [&](std::string_view key) { return b_.row(key).ttl; };
  a_.acquire("k", "ann", 1h);
  EXPECT_EQ(ttl("k"), Millis(1h));
  a_.renew("k", "ann", no_token, 2h);
  EXPECT_EQ(ttl("k"), Millis(2h));
  a_.renew("k", "ann", no_token, 1h);  // shortens nothing
  EXPECT_EQ(ttl("k"), Millis(2h));
  a_.acquire("k", "ann", 3h);
  EXPECT_EQ(ttl("k"), Millis(3h));
  a_.extend("k", "ann", 1h);  // less what has passed
  EXPECT_GT(ttl("k"), Millis(3h));
  EXPECT_LE(ttl("k"), Millis(4h));
  a_.release("k", "ann");
  EXPECT_EQ(ttl("k"), std::nullopt);
  a_.acquire("k", "ann", 5h);
  EXPECT_EQ(ttl("k"), Millis(5h));
  const Request batch[] = {
      {.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 6h},
      {.verb = Verb::acquire, .key = {"new"}, .owner = {"ann"}, .ttl = 7h},
      {.verb = Verb::acquire, .key = {"noted"}, .owner = {"ann"}, .ttl = 8h, .note = "why"}};
  Reply replies[3];
  ASSERT_TRUE(a_.connection().apply(batch, replies, soon()));
  EXPECT_EQ(ttl("k"), Millis(6h));
  EXPECT_EQ(ttl("new"), Millis(7h));
  EXPECT_EQ(ttl("noted"), Millis(8h));
  const Request again[] = {{.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 1h, .extend = true},
                           {.verb = Verb::renew, .key = {"new"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::release, .key = {"noted"}, .owner = {"ann"}}};
  ASSERT_TRUE(a_.connection().apply(again, replies, soon()));
  EXPECT_GT(ttl("k"), Millis(6h));
  EXPECT_LE(ttl("k"), Millis(7h));
  EXPECT_EQ(ttl("new"), Millis(7h)) << "shortened nothing";
  EXPECT_EQ(ttl("noted"), std::nullopt);
  a_.acquire("endless", "ann", never);
  EXPECT_EQ(ttl("endless"), std::nullopt);
}

TEST_P(Conformance, a_note_belongs_to_its_grant) {
  a_.ask({.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h, .note = "mine"});
  a_.release("k", "ann");
  b_.acquire("k", "bob");
  EXPECT_EQ(b_.row("k").note, "");
}

HOLDFAST_ON_EVERY_STORE_AND_SHEDLOCK(Conformance);

}  // namespace
}  // namespace holdfast::test
