// SPDX-License-Identifier: Apache-2.0
// Random operations on Keeping, with its two indexes, and on a list that is searched from end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "core/keeping.h"
#include "core/timing.h"
#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

using Id = Keeping::Id;

class Model {
 public:
  struct Kept {
    Id id;
    Belief belief;
    bool in_flight = false;
    bool in_jeopardy = false;
    Instant renewal() const { return in_flight ? Instant::max() : belief.renew_at(); }
    Millis call() const { return attempt_limit(belief.ttl()); }
    Instant event() const { return in_jeopardy ? belief.deadline() : belief.jeopardy_at(); }
  };

  void add(Id id, Belief belief) { kept_.push_back({id, belief}); }
  void remove(Id id) {
    std::erase_if(kept_, [&](const Kept& k) { return k.id == id; });
  }
  Kept* find(Id id) {
    const auto it = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.id == id; });
    return it == kept_.end() ? nullptr : &*it;
  }

  std::vector<Id> due(Instant now, std::size_t most) {
    std::vector<Id> due;
    if (next_renewal() > now) return due;
    std::vector<std::pair<Instant, Id>> found;
    std::size_t renewals = 0;
    for (const Kept& k : kept_) {
      renewals += k.renewal() != Instant::max();
      if (k.renewal() != Instant::max() && k.renewal() <= now + k.belief.ttl() / 10)
        found.emplace_back(k.belief.renew_by(), k.id);
    }
    std::sort(found.begin(), found.end());
    const auto leads = std::find_if(found.begin(), found.end(),
                                    [&](const auto& f) { return find(f.second)->renewal() <= now; });
    const Kept first = *find(leads->second);
    for (auto f = leads; f != found.end(); ++f) {
      const Id id = f->second;
      Kept& next = *find(id);
      const bool alike = next.call() <= 2 * first.call() && first.call() <= 2 * next.call() &&
                         next.belief.failing() == first.belief.failing();
      if (due.size() == most || !alike) break;
      due.push_back(id);
      next.in_flight = true;
    }
    rest_from_ = rest_until_ = now;
    const Millis spread = 2 * first.belief.early();
    if (due.size() == most && now < first.renewal() + spread) rest_until_ += spread * due.size() / renewals;
    return due;
  }

  std::vector<std::pair<Id, bool>> take_events(Instant now) {
    std::vector<std::tuple<Instant, Id, bool>> found;
    for (Kept& k : kept_) {
      if (k.belief.deadline() <= now)
        found.emplace_back(k.belief.deadline(), k.id, true);
      else if (!k.in_jeopardy && k.belief.jeopardy_at() <= now)
        found.emplace_back(k.belief.jeopardy_at(), k.id, false);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::pair<Id, bool>> happened;
    for (const auto& [when, id, lost] : found) {
      happened.emplace_back(id, lost);
      if (lost)
        remove(id);
      else
        find(id)->in_jeopardy = true;
    }
    return happened;
  }

  std::optional<Instant> renewed(Id id, Instant sent, Millis life, Instant now) {
    Kept* const k = find(id);
    if (k == nullptr) return std::nullopt;
    k->in_flight = false;
    if (!k->belief.renewed(sent, life, now)) return std::nullopt;
    k->in_jeopardy = false;
    return k->belief.deadline();
  }

  void failed(Id id, Instant now, double jitter) {
    if (Kept* const k = find(id)) {
      k->in_flight = false;
      k->belief.failed(now, jitter);
      if (k->belief.renew_at() == Instant::max()) return;
      rest_from_ = now;
      rest_until_ = now + (k->belief.renew_at() - now) / 2;
    }
  }

  void stop_renewing(Id id) {
    if (Kept* const k = find(id)) {
      k->in_flight = false;
      k->belief.stop_renewing();
    }
  }

  std::size_t size() const { return kept_.size(); }
  Instant next_renewal() const {
    const Instant first = least([](const Kept& k) { return k.renewal(); });
    return first == Instant::max() ? first
                                   : std::max(first, std::min(rest_until_, time_for_a_call(rest_from_)));
  }
  Instant time_for_a_call(Instant now) const {
    const Kept* next = nullptr;
    for (const Kept& k : kept_) {
      const auto rank = [](const Kept& of) { return std::pair(of.belief.renew_by(), of.id); };
      if (k.renewal() != Instant::max() && (next == nullptr || rank(k) < rank(*next))) next = &k;
    }
    return next == nullptr ? Instant::max() : std::max(now, next->renewal()) + next->call();
  }
  Instant next_event() const {
    return least([](const Kept& k) { return k.event(); });
  }

 private:
  template <class Of>
  Instant least(Of of) const {
    Instant least = Instant::max();
    for (const Kept& k : kept_) least = std::min(least, of(k));
    return least;
  }

  std::vector<Kept> kept_;
  Instant rest_from_ = Instant::min(), rest_until_ = Instant::min();
};

// Does the same to both, and compares all that can be seen.
class Comparison {
 public:
  explicit Comparison(std::uint64_t seed) : random_(seed) {}

  void step() {
    now_ += Micros(random_.below(random_.below(20) == 0 ? 5'000'000 : 50'000));
    const Id id = 1 + random_.below(last_ + 1);
    switch (random_.below(9)) {
      case 0: return add();
      case 1: return remove(id);
      case 2:
      case 3: return take_due();
      case 4: return take_events();
      case 5: return renew(id);
      case 6: return fail(id);
      case 7: return set_ttl(id);
      default: return stop_renewing(id);
    }
  }

  void compare() {
    ASSERT_EQ(keeping_.size(), model_.size());
    ASSERT_EQ(ms(keeping_.next_renewal()), ms(model_.next_renewal()));
    ASSERT_EQ(ms(keeping_.next_event()), ms(model_.next_event()));
    ASSERT_EQ(ms(keeping_.time_for_a_call(now_)), ms(model_.time_for_a_call(now_)));
  }

 private:
  static constexpr std::size_t crowd = 40;

  Millis any_ttl() {
    constexpr Millis ttls[] = {20ms, 100ms, 1s, 3s, 30s, Millis(never)};
    return ttls[random_.below(std::size(ttls))];
  }

  void add() {
    if (model_.size() >= crowd) return;
    const KeepPlan plan{
        .ttl = any_ttl(),
        .keep = random_.below(8) != 0,
        .max_renewals = random_.below(4) == 0 ? std::optional<int>(random_.below(3)) : std::nullopt,
        .resolution = Millis(random_.below(2))};
    const Belief belief(plan, now_, plan.ttl);
    keeping_.add(++last_, belief);
    model_.add(last_, belief);
  }

  void remove(Id id) {
    if (random_.below(4) != 0) return;
    keeping_.remove(id);
    model_.remove(id);
  }

  void take_due() {
    const std::size_t most = 1 + random_.below(5);
    EXPECT_EQ(keeping_.due(now_, most), model_.due(now_, most));
  }

  void take_events() {
    std::vector<std::pair<Id, bool>> happened;
    for (const auto& [id, lost] : keeping_.take_events(now_)) happened.emplace_back(id, lost);
    EXPECT_EQ(happened, model_.take_events(now_));
  }

  void renew(Id id) {
    const Model::Kept* const kept = model_.find(id);
    const Millis life = kept == nullptr ? 1s : random_.below(10) == 0 ? Millis(10s) : kept->belief.ttl();
    const Instant sent = now_ - Micros(random_.below(50'000));
    EXPECT_EQ(keeping_.renewed(id, sent, life, now_), model_.renewed(id, sent, life, now_));
  }

  void fail(Id id) {
    const double jitter = random_.fraction();
    keeping_.failed(id, now_, jitter);
    model_.failed(id, now_, jitter);
  }

  void set_ttl(Id id) {
    const Millis ttl = any_ttl();
    Model::Kept* const kept = model_.find(id);
    if (kept == nullptr || ttl == never || kept->belief.ttl() == never) return;
    keeping_.set_ttl(id, ttl);
    kept->belief.set_ttl(ttl);
  }

  void stop_renewing(Id id) {
    if (random_.below(8) != 0) return;
    keeping_.stop_renewing(id);
    model_.stop_renewing(id);
  }

  Jitter random_;
  Instant now_ = start;
  Id last_ = 0;
  Keeping keeping_;
  Model model_;
};

TEST(KeepingModel, answers_as_a_list_searched_from_end_to_end_does) {
  const std::uint64_t first_seed = random_bits();
  std::cout << "seeds from " << first_seed << "\n";
  for (std::uint64_t seed = first_seed; seed < first_seed + 40; ++seed) {
    Comparison comparison(seed);
    for (int step = 0; step < 1000; ++step) {
      comparison.step();
      comparison.compare();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace holdfast::core
