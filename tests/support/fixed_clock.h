// SPDX-License-Identifier: Apache-2.0
// fixed_clock.h - a database whose clock stands where the test puts it, and clients of it.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/rule.h"
#include "holdfast/spi/job_engine.h"
#include "tests/support/databases.h"

namespace holdfast::test {

// Who takes part: the one who asks, two who wait, and the one who holds what the first does not.
enum class Who : std::uint8_t { us, first_waiter, second_waiter, holder };
inline constexpr std::size_t rule_clients = 4;

class FixedClock {
 public:
  virtual ~FixedClock() = default;

  static std::unique_ptr<FixedClock> of(const Kind& kind);

  // The clock stands at `offset` from where it was first.  Connections from before are closed.
  void put(Micros offset);
  core::LeaseMoment moment() const { return {.now = first_now_ + offset_, .wall = first_wall_ + offset_}; }

  // The smallest difference of time that the store knows.
  Micros tick() const { return tick_; }
  // False: the server ends leases by its own clock, whatever this one says.
  virtual bool fixes_leases() const { return true; }
  virtual void expire(const std::vector<std::string>& /*keys*/) {}
  const std::string& client(Who who) const { return stores_[static_cast<std::size_t>(who)]->client(); }
  StoreConnection& connection(Who who);
  JobEngine& engine();  // of `us`

 protected:
  FixedClock(Micros now, Micros wall, Micros tick);
  virtual std::shared_ptr<Store> make_store() = 0;
  // Stores of a server are told; the others ask.
  virtual void tell(Store&) {}

 private:
  const Micros tick_, first_now_, first_wall_;
  Micros offset_{};
  std::array<std::shared_ptr<Store>, rule_clients> stores_ = {};
  std::array<std::unique_ptr<StoreConnection>, rule_clients> connections_ = {};
  std::unique_ptr<JobEngine> engine_ = {};
};

}  // namespace holdfast::test
