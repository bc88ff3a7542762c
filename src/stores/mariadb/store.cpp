// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "core/fixed_now.h"
#include "holdfast/mariadb.h"
#include "stores/mariadb/admin.h"
#include "stores/mariadb/config.h"
#include "stores/mariadb/descriptor.h"
#include "stores/mariadb/driver.h"
#include "stores/mariadb/jobs.h"
#include "stores/mariadb/store_connection.h"

namespace holdfast::mariadb {
namespace {

class MariaStore final : public Store, public core::FixedNow {
 public:
  MariaStore(Options options, Tables tables)
      : config_(std::make_shared<const StoreConfig>(std::move(options), std::move(tables), random_hex(16))) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    return made<StoreConnection, MariaStoreConnection>(until);
  }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    return made<JobEngine, MariaEngine>(until);
  }

  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<MariaStoreAdmin>(config_); }

  Result<std::shared_ptr<Store>> in(std::string_view table) override {
    Options options = config_->options;
    options.table = table;
    return store(std::move(options));
  }

  void fix_now(Micros now) override {
    config_ = std::make_shared<const StoreConfig>(config_->options, config_->tables.at(now), config_->client);
  }

  std::string name() const override { return config_->name; }
  const std::string& client() const noexcept override { return config_->client; }

 private:
  template <class Out, class Made>
  Result<std::unique_ptr<Out>> made(Instant until) {
    try {
      return std::unique_ptr<Out>(std::make_unique<Made>(config_, until));
    } catch (const Failure& failure) {
      return undone(failure.error());  // nothing of the caller's was sent yet
    }
  }

  std::shared_ptr<const StoreConfig> config_;
};

Status check(const Options& o) {
  const std::string scheme = o.mysql ? "mysql" : "mariadb";
  const auto invalid = [&](std::string text) {
    return Error{Errc::invalid, scheme + ": " + std::move(text)};
  };
  if (o.host.empty() && o.socket.empty())
    return invalid("no host is given; write " + scheme + "://user@host/database");
  if (Status s = core::check_topics(o.accept, store_descriptor.topics()); !s) return s;
  if (o.database.empty()) return invalid("no database is given; write " + scheme + "://user@host/database");
  if (!o.socket.empty() && o.tls) return invalid("a Unix socket has no TLS; remove tls=require");
  if (o.ssl_cert.empty() != o.ssl_key.empty())
    return invalid("ssl-cert and ssl-key belong together; give both or neither");
  const bool certificates = !o.ssl_ca.empty() || !o.ssl_cert.empty();
  if (certificates && !o.tls && (!o.socket.empty() || is_local(o.host)))
    return invalid(
        "certificates are given, but a server on this machine is used without TLS; add tls=require");
  return Status{};
}

}  // namespace

Result<std::shared_ptr<Store>> store(Options options) {
  if (Status s = check(options); !s) return std::move(s).error();
  if (options.table.empty()) options.table = Tables::usual_name(options.layout);
  auto tables = Tables::named(options.table, options.layout);
  if (!tables) return std::move(tables).error();
  if (Status s = load_libmariadb(); !s) return std::move(s).error();
  return std::shared_ptr<Store>(std::make_shared<MariaStore>(std::move(options), *std::move(tables)));
}

}  // namespace holdfast::mariadb
