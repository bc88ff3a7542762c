// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "holdfast/mariadb.h"
#include "stores/mariadb/engine.h"
#include "stores/mariadb/libmariadb.h"
#include "stores/mariadb/site.h"
#include "stores/mariadb/steward.h"
#include "stores/mariadb/store.h"
#include "stores/mariadb/topics.h"

namespace holdfast::mariadb {
namespace {

class MariaOrigin final : public Origin {
 public:
  MariaOrigin(Options options, Tables tables)
      : site_(std::make_shared<const Site>(std::move(options), std::move(tables), random_hex(16))) {}

  Result<std::unique_ptr<Store>> connect(Instant until) override { return made<Store, MariaStore>(until); }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    return made<JobEngine, MariaEngine>(until);
  }

  std::unique_ptr<Steward> steward() override { return std::make_unique<MariaSteward>(site_); }

  Result<std::shared_ptr<Origin>> in(std::string_view table) override {
    Options options = site_->options;
    options.table = table;
    return origin(std::move(options));
  }

  std::string name() const override { return site_->name; }
  const std::string& client() const noexcept override { return site_->client; }

 private:
  template <class Out, class Made>
  Result<std::unique_ptr<Out>> made(Instant until) {
    try {
      return std::unique_ptr<Out>(std::make_unique<Made>(site_, until));
    } catch (const Failure& failure) {
      Error error = failure.error();
      // Nothing of the caller's was sent yet, so nothing of it can have been applied.
      if (error.in_doubt()) error.code = Errc::unavailable;
      return error;
    }
  }

  const std::shared_ptr<const Site> site_;
};

Status check(const Options& o) {
  const std::string scheme = o.mysql ? "mysql" : "mariadb";
  const auto invalid = [&](std::string text) {
    return Error{Errc::invalid, scheme + ": " + std::move(text)};
  };
  if (o.host.empty() && o.socket.empty()) return invalid("names no host");
  if (Status s = core::check_topics(o.accept, known_topics); !s) return s;
  if (o.database.empty()) return invalid("names no database; write " + scheme + "://user@host/database");
  if (!o.socket.empty() && o.tls) return invalid("a Unix socket needs no TLS");
  if (o.ssl_cert.empty() != o.ssl_key.empty())
    return invalid("ssl-cert and ssl-key are given both or not at all");
  const bool certificates = !o.ssl_ca.empty() || !o.ssl_cert.empty();
  if (certificates && !o.tls && (!o.socket.empty() || is_local(o.host)))
    return invalid(
        "certificates are for TLS, which a server of this machine is not asked for; add tls=require");
  return ok();
}

}  // namespace

Result<std::shared_ptr<Origin>> origin(Options options) {
  if (Status s = check(options); !s) return std::move(s).error();
  if (options.table.empty()) options.table = options.layout == Layout::darwin ? "DARWIN_LOCK" : "locks";
  auto tables = Tables::named(options.table, options.layout);
  if (!tables) return std::move(tables).error();
  if (Status s = load_libmariadb(); !s) return std::move(s).error();
  return std::shared_ptr<Origin>(std::make_shared<MariaOrigin>(std::move(options), *std::move(tables)));
}

}  // namespace holdfast::mariadb
