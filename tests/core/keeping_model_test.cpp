// SPDX-License-Identifier: Apache-2.0
// Random operations on Keeping, with its two indexes, and on a list that is searched from end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "core/keeping.h"
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
    Instant alarm() const { return in_jeopardy ? belief.deadline() : belief.jeopardy_at(); }
  };

  void add(Id id, Belief belief) { kept_.push_back({id, belief}); }
  void remove(Id id) {
    std::erase_if(kept_, [&](const Kept& k) { return k.id == id; });
  }
  Kept* find(Id id) {
    const auto it = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.id == id; });
    return it == kept_.end() ? nullptr : &*it;
  }

  std::vector<Id> due(Instant now) {
    std::vector<std::pair<Instant, Id>> found;
    for (const Kept& k : kept_) {
      if (k.renewal() != Instant::max() && k.renewal() <= now + k.belief.ttl() / 10)
        found.emplace_back(k.renewal(), k.id);
    }
    std::sort(found.begin(), found.end());
    std::vector<Id> due;
    if (found.empty() || next_renewal() > now) return due;
    for (const auto& [when, id] : found) {
      due.push_back(id);
      find(id)->in_flight = true;
    }
    return due;
  }

  std::vector<std::pair<Id, bool>> look(Instant now) {
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
    return least([](const Kept& k) { return k.renewal(); });
  }
  Instant next_alarm() const {
    return least([](const Kept& k) { return k.alarm(); });
  }

 private:
  template <class Of>
  Instant least(Of of) const {
    Instant least = Instant::max();
    for (const Kept& k : kept_) least = std::min(least, of(k));
    return least;
  }

  std::vector<Kept> kept_;
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
      case 4: return look();
      case 5: return renew(id);
      case 6: return fail(id);
      case 7: return set_ttl(id);
      default: return stop_renewing(id);
    }
  }

  void compare() {
    ASSERT_EQ(keeping_.size(), model_.size());
    ASSERT_EQ(ms(keeping_.next_renewal()), ms(model_.next_renewal()));
    ASSERT_EQ(ms(keeping_.next_alarm()), ms(model_.next_alarm()));
  }

 private:
  static constexpr std::size_t crowd = 40;

  Millis any_ttl() {
    constexpr Millis ttls[] = {20ms, 100ms, 1s, 3s, 30s, never};
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

  void take_due() { EXPECT_EQ(keeping_.due(now_), model_.due(now_)); }

  void look() {
    std::vector<std::pair<Id, bool>> happened;
    for (const auto& [id, lost] : keeping_.look(now_)) happened.emplace_back(id, lost);
    EXPECT_EQ(happened, model_.look(now_));
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
