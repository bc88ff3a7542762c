// SPDX-License-Identifier: Apache-2.0
#include <sys/eventfd.h>

#include "base/fd.h"
#include "base/random.h"
#include "base/time.h"
#include "holdfast/memory.h"
#include "stores/memory/database.h"
#include "stores/memory/engine.h"

namespace holdfast::memory {
namespace {

Finding one_process_only() {
  return {.severity = Severity::danger,
          .topic = "memory.process",
          .what =
              "the leases are in the memory of this process: other processes do not see them, and they end "
              "with it",
          .advice = "use a store that all processes reach"};
}

class EventListener final : public StoreListener {
 public:
  EventListener(std::shared_ptr<Database> database, std::string client)
      : database_(std::move(database)),
        client_(std::move(client)),
        fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    const std::lock_guard lock(database_->mutex());
    database_->connect_listener(client_, fd_.get());
  }
  ~EventListener() override {
    const std::lock_guard lock(database_->mutex());
    database_->disconnect_listener(client_);
  }
  int fd() const noexcept override { return fd_.get(); }
  Result<std::vector<std::string>> ready() override {
    eventfd_t count = 0;
    eventfd_read(fd_.get(), &count);
    return std::vector<std::string>{};
  }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
  const Fd fd_;
};

class MemoryStoreConnection final : public StoreConnection {
 public:
  MemoryStoreConnection(std::shared_ptr<Database> database, std::string client)
      : database_(std::move(database)), client_(std::move(client)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    const std::lock_guard lock(database_->mutex());
    if (database_->now() > until.time_since_epoch())
      return Error{Errc::unavailable, "timed out before the request could be applied"};
    for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = database_->apply(requests[i], client_);
    return Status{};
  }
  Result<Page> list(const Query& query, Instant) override {
    const std::lock_guard lock(database_->mutex());
    return database_->list(query);
  }
  Result<Traits> examine(Instant) override {
    return Traits{.name = "memory",
                  .push = true,
                  .tidies = true,  // with the process
                  .grade = Grade::D,
                  .findings = {one_process_only()}};
  }
  Result<std::unique_ptr<StoreListener>> listener(Instant) override {
    return std::unique_ptr<StoreListener>(std::make_unique<EventListener>(database_, client_));
  }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
};

// There are no tables to make.
class MemoryStoreAdmin final : public StoreAdmin {
 public:
  explicit MemoryStoreAdmin(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  Result<std::vector<std::string>> plan(Instant) override { return std::vector<std::string>{}; }
  Result<std::vector<std::string>> init(Instant) override { return std::vector<std::string>{}; }
  std::string statements() const override { return {}; }
  Result<Purged> purge(const Purge& what, Instant) override {
    const std::lock_guard lock(database_->mutex());
    return database_->purge(what);
  }
  Result<Diagnosis> diagnose(Instant) override {
    return Diagnosis{.server = "memory", .grade = Grade::D, .findings = {one_process_only()}};
  }

 private:
  const std::shared_ptr<Database> database_;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<Database> database)
      : database_(std::move(database)), client_(random_hex(16)) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant) override {
    return std::unique_ptr<StoreConnection>(std::make_unique<MemoryStoreConnection>(database_, client_));
  }
  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<MemoryStoreAdmin>(database_); }
  Result<std::unique_ptr<JobEngine>> jobs(Instant) override {
    return std::unique_ptr<JobEngine>(std::make_unique<MemoryEngine>(database_, client_));
  }
  Result<std::shared_ptr<Store>> in(std::string_view) override {
    return Error{Errc::invalid,
                 "a memory: store has no tables to choose from; open another memory: store instead"};
  }
  std::string name() const override { return "memory:"; }
  const std::string& client() const noexcept override { return client_; }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
};

}  // namespace

std::shared_ptr<Database> make_database() { return make_database({BootClock::now, wall_now}); }

std::shared_ptr<Database> make_database(Clocks clocks) {
  return std::make_shared<Database>(std::move(clocks));
}

std::shared_ptr<Store> store(std::shared_ptr<Database> database) {
  return std::make_shared<MemoryStore>(std::move(database));
}

}  // namespace holdfast::memory
