// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/store.h"

#include "base/random.h"
#include "core/fixed_now.h"
#include "holdfast/postgres.h"
#include "stores/postgres/admin.h"
#include "stores/postgres/config.h"
#include "stores/postgres/descriptor.h"
#include "stores/postgres/jobs.h"
#include "stores/postgres/store_connection.h"

namespace holdfast::postgres {
namespace {

class PostgresStore final : public Store, public core::FixedNow {
 public:
  PostgresStore(Settings settings, Tables tables, core::Accepted accepted)
      : config_(std::make_shared<const StoreConfig>(
            StoreConfig{std::move(settings), std::move(tables), random_hex(16), std::move(accepted)})),
        name_(config_->name()) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    try {
      return std::unique_ptr<StoreConnection>(std::make_unique<PostgresStoreConnection>(config_, until));
    } catch (const Failure& failure) {
      Error error = failure.error();
      // Nothing of the caller's was sent yet, so nothing of it can have been applied.
      if (error.in_doubt()) error.code = Errc::unavailable;
      return error;
    }
  }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    try {
      return std::unique_ptr<JobEngine>(std::make_unique<PostgresEngine>(config_, until));
    } catch (const Failure& failure) {
      Error error = failure.error();
      if (error.in_doubt()) error.code = Errc::unavailable;
      return error;
    }
  }

  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<PostgresStoreAdmin>(config_); }

  // A client of its own: its queue, and so the address of its notifications, is that table's.  A name without
  // a schema is looked for where ours is.
  Result<std::shared_ptr<Store>> in(std::string_view table) override {
    const bool bare = table.find('.') == std::string_view::npos && !config_->tables.schema().empty();
    auto tables =
        Tables::named(bare ? config_->tables.schema() + "." + std::string(table) : std::string(table),
                      config_->tables.layout());
    if (!tables) return std::move(tables).error();
    return std::shared_ptr<Store>(
        std::make_shared<PostgresStore>(config_->settings, *std::move(tables), config_->accepted));
  }

  void fix_now(Micros now) override {
    config_ = std::make_shared<const StoreConfig>(
        StoreConfig{config_->settings, config_->tables.at(now), config_->client, config_->accepted});
  }

  std::string name() const override { return name_; }
  const std::string& client() const noexcept override { return config_->client; }

 private:
  std::shared_ptr<const StoreConfig> config_;
  const std::string name_;
};

}  // namespace

Result<std::shared_ptr<Store>> make_store(const Options& options, const Words& more) {
  if (Status s = core::check_topics(options.accept, store_descriptor.topics()); !s)
    return std::move(s).error();
  auto tables = Tables::named(options.table.empty() ? Tables::usual_name(options.layout) : options.table,
                              options.layout);
  if (!tables) return std::move(tables).error();
  auto settings = Settings::from(options.conninfo, more);
  if (!settings) return std::move(settings).error();
  return std::shared_ptr<Store>(std::make_shared<PostgresStore>(
      *std::move(settings), *std::move(tables), core::Accepted{options.allow_unsafe, options.accept}));
}

Result<std::shared_ptr<Store>> store(Options options) { return make_store(options, {}); }

}  // namespace holdfast::postgres
