// SPDX-License-Identifier: Apache-2.0
#include "core/batching.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

// What a store manages that takes so long for each request and for the way there and back: after a hundred
// calls that were given two seconds, or as much less as `limit` says.
std::size_t settled(Micros each, Micros way = 1ms, Millis limit = 2s, BatchSize size = BatchSize()) {
  for (int call = 0; call < 100; ++call) {
    const Micros took = way + each * size.now();
    if (took > limit)
      size.failed(size.now());
    else
      size.answered(size.now(), limit, took);
  }
  return size.now();
}

TEST(BatchSize, follows_what_the_store_manages_in_a_fraction_of_the_time_for_a_call) {
  for (const Micros each : {1us, 5us, 10us, 100us, 1'000us, 5'000us}) {
    const Micros took = each * settled(each);
    EXPECT_LE(took, 501ms) << each.count();
    EXPECT_GE(took, each < 5us ? 60ms : 120ms) << each.count();
  }
}

TEST(BatchSize, a_slow_request_is_sent_alone) {
  EXPECT_EQ(settled(1'500ms), 1u);
  EXPECT_EQ(settled(10s), 1u);
}

TEST(BatchSize, a_store_far_away_is_not_sent_fewer_for_that) {
  EXPECT_GE(settled(10us, 30ms, 50ms), 64u) << "thirty of fifty milliseconds are the way, whatever is sent";
}

TEST(BatchSize, a_store_that_slows_down_or_comes_back_is_followed) {
  BatchSize size;
  const std::size_t before = settled(10us);
  size = BatchSize(before);
  EXPECT_LE(settled(1ms, 1ms, 2s, size), 500u);
  for (int i = 0; i < 20; ++i) size.failed(size.now());
  EXPECT_EQ(size.now(), 1u);
  EXPECT_GE(settled(10us, 1ms, 2s, size), before / 2);
}

TEST(BatchSize, a_call_that_was_not_full_proves_nothing_about_more) {
  BatchSize size(100);
  size.answered(99, 2s, 1ms);
  EXPECT_EQ(size.now(), 100u);
  size.answered(100, 2s, 1ms);
  EXPECT_EQ(size.now(), 200u);
}

// The calls that fail if those requests make each of theirs fail.  Counts how often each was answered.
int failures_of(const std::vector<bool>& bad, std::vector<int>& answered) {
  answered.assign(bad.size(), 0);
  int failures = 0;
  Halving halving(bad.size());
  while (halving.size() > 0) {
    const std::size_t from = halving.first(), to = from + halving.size();
    bool fails = false;
    for (std::size_t i = from; i < to; ++i) fails = fails || bad[i];
    for (std::size_t i = from; i < to && !fails; ++i) ++answered[i];
    failures += fails ? 1 : 0;
    fails ? halving.failed() : halving.answered();
  }
  return failures;
}

TEST(Halving, all_go_in_one_call_if_it_is_answered) {
  Halving halving(1000);
  EXPECT_EQ(halving.size(), 1000u);
  halving.answered();
  EXPECT_EQ(halving.size(), 0u);
  EXPECT_EQ(Halving(0).size(), 0u);
}

TEST(Halving, one_bad_request_fails_alone_and_each_other_is_answered_once) {
  for (const std::size_t size : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<bool> bad(size, false);
      bad[at] = true;
      std::vector<int> answered;
      EXPECT_LE(failures_of(bad, answered), static_cast<int>(std::bit_width(size)) + 1)
          << at << " of " << size;
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(answered[i], i == at ? 0 : 1) << i << " of " << size;
    }
  }
}

TEST(Halving, several_bad_ones_fail_alone_too) {
  std::vector<bool> bad(16, false);
  bad[0] = bad[2] = bad[3] = bad[15] = true;
  std::vector<int> answered;
  failures_of(bad, answered);
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(answered[i], bad[i] ? 0 : 1) << i;
}

TEST(Halving, a_store_that_answers_nobody_is_soon_left_alone) {
  std::vector<int> answered;
  EXPECT_LE(failures_of(std::vector<bool>(1000, true), answered), 12);
  EXPECT_LE(failures_of({true, true}, answered), 3);
}

std::vector<KeyBatch> key_batches_of(std::initializer_list<std::string_view> keys) {
  std::vector<Request> requests;
  for (const auto key : keys) requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"h"}});
  return key_batches(requests);
}

TEST(KeyBatches, keys_that_differ_go_in_one_in_bytewise_order) {
  EXPECT_EQ(key_batches_of({}), std::vector<KeyBatch>{});
  EXPECT_EQ(key_batches_of({"b", "a", "c"}), (std::vector<KeyBatch>{{1, 0, 2}}));
  EXPECT_EQ(key_batches_of({"\xc3\xa4", "z", "Z", "z "}), (std::vector<KeyBatch>{{2, 1, 3, 0}}));
}

TEST(KeyBatches, a_key_that_comes_again_goes_in_a_later_one_in_the_order_given) {
  EXPECT_EQ(key_batches_of({"b", "a", "b", "b", "a"}), (std::vector<KeyBatch>{{1, 0}, {4, 2}, {3}}));
}

}  // namespace
}  // namespace holdfast::core
