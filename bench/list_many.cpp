// SPDX-License-Identifier: Apache-2.0
// list_many.cpp - what `ls`, `top` and `watch` ask of a store that knows a million keys, of which few are
// held.
#include <stdexcept>

#include "bench/axis.h"
#include "bench/workload.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* listed_table = "listed";
constexpr std::size_t listed_page = 1000, listed_log = 100;  // as the command asks for them
constexpr int held_keys = 5;
constexpr Millis list_patience = 2min;  // the command has less: it is measured how much it would need

Instant list_end() { return clamped_add(BootClock::now(), list_patience); }

// A lock table that knows so many keys.
class Known {
 public:
  Known(Subject& subject, std::uint64_t count)
      : store_(try_store(subject.url()).value()->in(listed_table).value()),
        by_hand_(subject.keys_by_hand(listed_table)) {
    store_->admin()->init(list_end()).value();
    connection_ = store_->connect(list_end()).value();
    ask(Verb::acquire, KeysByHand::seed);
    ask(Verb::release, KeysByHand::seed);
    by_hand_->copy_seed(count - held_keys - 1);
    for (int i = 0; i < held_keys; ++i) ask(Verb::acquire, "held-" + std::to_string(i));
  }

  void list_held() { must_be(list({.free = false, .limit = listed_page}).leases.size(), held_keys); }
  void list_all() { must_be(list({.limit = listed_page}).leases.size(), listed_page); }
  // As top and watch do each second.
  void poll() {
    list_held();
    list({.what = Query::What::log, .limit = listed_log});
  }
  void read_held() { must_be(by_hand_->read_held(listed_page), held_keys); }
  void read_all() { must_be(by_hand_->read_all(listed_page), listed_page); }

 private:
  Page list(const Query& query) { return connection_->list(query, list_end()).value(); }
  void ask(Verb verb, const std::string& key) {
    const Request request{.verb = verb, .key = {key}, .owner = {"bench"}, .ttl = 1h};
    Reply reply;
    connection_->apply({&request, 1}, {&reply, 1}, list_end()).value();
  }
  static void must_be(std::size_t found, std::size_t wanted) {
    if (found != wanted)
      throw std::runtime_error("list-many: " + std::to_string(found) + " keys instead of " +
                               std::to_string(wanted));
  }

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<KeysByHand> by_hand_;
  std::unique_ptr<StoreConnection> connection_;
};

// Milliseconds, on average: again and again for a slice, at least once.
template <class Work>
Contestant timed_ms(const Effort& effort, std::string name, Work work) {
  return {std::move(name), [&effort, work] {
            const Instant start = BootClock::now();
            int count = 0;
            do work();
            while (++count, seconds_since(start) < effort.slice_seconds());
            return 1000 * seconds_since(start) / count;
          }};
}

}  // namespace

Report run_list_many(const Effort& effort, Subject& subject) {
  const std::uint64_t count = effort.keys != 0 ? effort.keys : effort.quick ? 2'000 : 1'000'000;
  Known known(subject, count);
  const std::string among = "among " + short_number(static_cast<double>(count));
  const std::vector<Contestant> contestants = {
      timed_ms(effort, "ls, " + std::to_string(held_keys) + " held " + among, [&] { known.list_held(); }),
      timed_ms(effort, "a plain query for those held", [&] { known.read_held(); }),
      timed_ms(effort, "ls --all, a page of " + std::to_string(listed_page) + " " + among,
               [&] { known.list_all(); }),
      timed_ms(effort, "a plain query for that page", [&] { known.read_all(); }),
      timed_ms(effort, "top or watch, one poll " + among, [&] { known.poll(); })};
  const auto found = take_turns(effort, effort.quick ? 2 : 5, contestants);

  BarChart chart{.title = "Listing keys where most are free",
                 .note = subject.naming().store + ", " + among + " keys; quartiles of the rounds",
                 .axis = "ms, logarithmic",
                 .bars = {},
                 .log = true};
  for (const Named& one : found)
    chart.bars.push_back(
        {one.name, spread_of(one.series), one.name.starts_with("a plain") ? Role::reference : Role::ours});
  const Named second{"the second until the next", Series(found[4].series.size(), 1000)};
  return {.figures = {compare(found[0], found[1], "ms", Better::less),
                      compare(found[2], found[3], "ms", Better::less),
                      compare(found[4], found[1], "ms", Better::less),
                      compare(found[4], second, "ms", Better::less)},
          .charts = {{"list-many", std::move(chart)}}};
}

}  // namespace holdfast::bench
