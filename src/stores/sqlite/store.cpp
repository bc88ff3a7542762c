// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/store.h"

#include <mutex>

#include "base/random.h"
#include "stores/sqlite/admin.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/descriptor.h"
#include "stores/sqlite/jobs.h"
#include "stores/sqlite/path.h"
#include "stores/sqlite/store_connection.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {
namespace {

class SqliteStore final : public Store, public std::enable_shared_from_this<SqliteStore> {
 public:
  SqliteStore(std::string path, Tables tables, Machine machine, core::Accepted accepted)
      : path_(std::move(path)),
        tables_(std::move(tables)),
        machine_(std::move(machine)),
        accepted_(std::move(accepted)),
        client_(random_hex(16)) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    return open<StoreConnection, SqliteStoreConnection>(until);
  }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    return open<JobEngine, SqliteEngine>(until);
  }

  std::unique_ptr<StoreAdmin> admin() override {
    return std::make_unique<SqliteStoreAdmin>(shared_from_this(), path_, tables_, machine_, accepted_);
  }

  // A client of its own: its queue, and so the address of its notifications, is that table's.
  Result<std::shared_ptr<Store>> in(std::string_view table) override {
    auto tables = Tables::named(table);
    if (!tables) return std::move(tables).error();
    return std::shared_ptr<Store>(
        std::make_shared<SqliteStore>(path_, *std::move(tables), machine_, accepted_));
  }

  std::string name() const override {
    return "sqlite:" + path_ + (tables_.name() == "locks" ? "" : "?table=" + tables_.name());
  }
  const std::string& client() const noexcept override { return client_; }

  int proof_of_life() const override {
    const std::lock_guard lock(mutex_);
    return config_ ? config_->presence.proof_of_life() : -1;
  }

  void abandon() noexcept override {
    if (config_) config_->presence.abandon();
  }

 private:
  template <class What, class Ours>
  Result<std::unique_ptr<What>> open(Instant until) {
    try {
      const std::shared_ptr<StoreConfig> config = find_config();
      // Unlocked: each caller waits for its own time.
      auto opened = std::make_unique<Ours>(config, until);
      show_presence(*config);
      return std::unique_ptr<What>(std::move(opened));
    } catch (const Failure& failure) {
      Error error = failure.error();
      // Nothing of the caller's was sent yet, so nothing of it can have been applied.
      if (error.in_doubt()) error.code = Errc::unavailable;
      return error;
    }
  }

  std::shared_ptr<StoreConfig> find_config() {
    const std::lock_guard lock(mutex_);
    const std::string file =
        make_file(path_, machine_, accepted_);  // each time: it may have been removed since
    if (!config_) config_ = std::make_shared<StoreConfig>(file, tables_, machine_, accepted_, client_);
    return config_;
  }

  // Not before the file is known to be ours: nothing is left beside somebody else's.
  void show_presence(StoreConfig& config) {
    const std::lock_guard lock(mutex_);
    if (!config.presence.appeared()) config.presence.appear();
    if (!config.waits.is_open()) config.waits.open();
  }

  const std::string path_;
  const Tables tables_;
  const Machine machine_;
  const core::Accepted accepted_;
  const std::string client_;
  mutable std::mutex mutex_;
  std::shared_ptr<StoreConfig> config_;  // since the first attempt to connect
};

}  // namespace

Result<std::shared_ptr<Store>> store(Options options, Machine machine) {
  if (options.path.empty() || options.path.back() == '/' || options.path.find('\0') != std::string::npos) {
    return Error{Errc::invalid,
                 "'" + options.path + "' is not the path of a file; give one, such as leases.db"};
  }
  if (Status s = core::check_topics(options.accept, store_descriptor.topics()); !s)
    return std::move(s).error();
  auto tables = Tables::named(options.table);
  if (!tables) return std::move(tables).error();
  return std::shared_ptr<Store>(
      std::make_shared<SqliteStore>(absolute(options.path), *std::move(tables), std::move(machine),
                                    core::Accepted{options.allow_unsafe, std::move(options.accept)}));
}

Result<std::shared_ptr<Store>> store(Options options) {
  auto machine = this_machine();
  if (!machine) return std::move(machine).error();
  return store(std::move(options), *std::move(machine));
}

}  // namespace holdfast::sqlite
