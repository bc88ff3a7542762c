// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fixed_clock.h"

#include <stdexcept>

#include "base/time.h"
#include "core/fixed_now.h"
#include "holdfast/memory.h"
#include "stores/sqlite/probe.h"
#include "stores/sqlite/store.h"
#include "tests/support/scratch.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

Instant soon_enough() { return BootClock::now() + 20s; }

Micros boottime() { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); }
Micros walltime() { return std::chrono::floor<Micros>(wall_now().time_since_epoch()); }

// In the middle of a millisecond, as seen from the latest end too: a server that tells it in floating point
// is some microseconds off there.
Micros first_moment(Micros now, Micros tick) {
  const Micros ms = std::chrono::floor<Millis>(now);
  return tick < 1ms ? ms + core::latest_end % 1ms - 500us : ms;
}

class MemoryClock final : public FixedClock {
 public:
  MemoryClock() : FixedClock(boottime(), walltime(), 1us) {}
  std::shared_ptr<Store> make_store() override { return memory::store(database_); }

 private:
  const std::shared_ptr<memory::Database> database_ = memory::make_database(
      {.expiry = [this] { return Instant(moment().now); }, .wall = [this] { return Moment(moment().wall); }});
};

class SqliteClock final : public FixedClock {
 public:
  SqliteClock() : FixedClock(boottime(), walltime(), 1us) {}
  std::shared_ptr<Store> make_store() override {
    sqlite::Machine machine = sqlite::this_machine().value();
    machine.boottime = [this] { return moment().now; };
    machine.walltime = [this] { return moment().wall; };
    return sqlite::store({.path = folder_.path() + "/leases.db"}, std::move(machine)).value();
  }

 private:
  const Scratch folder_;
};

// One clock for both.
class ServerClock final : public FixedClock {
 public:
  ServerClock(std::unique_ptr<TestDatabase> database, Micros now, const core::FixedNow& store)
      : FixedClock(now, now, store.tick()),
        database_(std::move(database)),
        fixes_leases_(store.fixes_leases()) {}
  std::shared_ptr<Store> make_store() override { return database_->new_client(); }
  void tell(Store& store) override { dynamic_cast<core::FixedNow&>(store).fix_now(moment().now); }
  bool fixes_leases() const override { return fixes_leases_; }
  void expire(const std::vector<std::string>& keys) override { database_->expire(keys); }

 private:
  const std::unique_ptr<TestDatabase> database_;
  const bool fixes_leases_;
};

}  // namespace

FixedClock::FixedClock(Micros now, Micros wall, Micros tick)
    : tick_(tick), first_now_(first_moment(now, tick)), first_wall_(first_moment(wall, tick)) {}

std::unique_ptr<FixedClock> FixedClock::of(const Kind& kind) {
  if (kind.name == "memory") return std::make_unique<MemoryClock>();
  if (kind.name == "sqlite") return std::make_unique<SqliteClock>();
  auto database = kind.make();
  const auto store = database->new_client();
  const auto* const fixed = dynamic_cast<const core::FixedNow*>(store.get());
  if (fixed == nullptr) throw std::logic_error("the Store of " + kind.name + " is no core::FixedNow");
  return std::make_unique<ServerClock>(std::move(database), walltime(), *fixed);
}

void FixedClock::put(Micros offset) {
  connections_ = {};
  engine_.reset();
  offset_ = offset;
  for (auto& store : stores_) {
    if (!store) store = make_store();
    tell(*store);
  }
}

StoreConnection& FixedClock::connection(Who who) {
  auto& connection = connections_[static_cast<std::size_t>(who)];
  if (!connection) connection = stores_[static_cast<std::size_t>(who)]->connect(soon_enough()).value();
  return *connection;
}

JobEngine& FixedClock::engine() {
  if (!engine_) engine_ = stores_[static_cast<std::size_t>(Who::us)]->jobs(soon_enough()).value();
  return *engine_;
}

}  // namespace holdfast::test
