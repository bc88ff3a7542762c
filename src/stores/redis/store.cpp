// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "base/random.h"
#include "base/text.h"
#include "core/fixed_now.h"
#include "stores/redis/admin.h"
#include "stores/redis/descriptor.h"
#include "stores/redis/fault.h"
#include "stores/redis/jobs.h"
#include "stores/redis/store_connection.h"

namespace holdfast::redis {
namespace {

class RedisStore final : public Store, public core::FixedNow {
 public:
  RedisStore(Options options, std::shared_ptr<TlsContext> tls)
      : config_(std::make_shared<const StoreConfig>(std::move(options), std::move(tls), random_hex(16))) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    return guarded([&]() -> Result<std::unique_ptr<StoreConnection>> {
      return std::unique_ptr<StoreConnection>(std::make_unique<RedisStoreConnection>(config_, until));
    });
  }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    return guarded([&]() -> Result<std::unique_ptr<JobEngine>> {
      return std::unique_ptr<JobEngine>(std::make_unique<RedisEngine>(config_, until));
    });
  }

  JobKeyForm job_key_form() const noexcept override {
    return config_->options.layout == Layout::active_job_lock ? JobKeyForm::joined : JobKeyForm::exact;
  }

  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<RedisStoreAdmin>(config_); }

  // What a table is elsewhere is a prefix here: a program that moves between stores finds its keys apart.
  Result<std::shared_ptr<Store>> in(std::string_view table) override {
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (table.empty() || !std::all_of(table.begin(), table.end(), plain))
      return Error{Errc::invalid,
                   "\"" + printable(table) +
                       "\" cannot be a table name; give letters, digits and _, which become a prefix of "
                       "the keys"};
    Options options = config_->options;
    options.prefix += std::string(table) + ":";
    return std::shared_ptr<Store>(std::make_shared<RedisStore>(std::move(options), config_->tls));
  }

  void fix_now(Micros now) override {
    auto fixed = std::make_shared<StoreConfig>(config_->options, config_->tls, config_->client);
    fixed->fixed_now = now;
    config_ = std::move(fixed);
  }
  Micros tick() const override { return Millis(1); }
  bool fixes_leases() const override { return false; }

  std::string name() const override { return config_->name; }
  const std::string& client() const noexcept override { return config_->client; }

 private:
  std::shared_ptr<const StoreConfig> config_;
};

Status check(const Options& o) {
  const auto invalid = [](std::string text) { return Error{Errc::invalid, std::move(text)}; };
  if (o.host.empty() && o.socket.empty()) return invalid("redis: no host is given; write redis://host");
  if (!o.socket.empty() && o.tls) return invalid("redis: a Unix socket has no TLS; use it without");
  if (o.db < 0) return invalid("redis: the number of the database is negative; give 0 or more");
  if (!o.user.empty() && o.password.empty())
    return invalid("redis: a user is given without a password; give both");
  if (o.cert.empty() != o.key.empty())
    return invalid("redis: cert and key belong together; give both or neither");
  if (!o.tls && !(o.cacert.empty() && o.cert.empty()))
    return invalid("redis: certificates are given, but no TLS is used; write rediss://");
  if (o.prefix.size() > 512 || !is_utf8(o.prefix) || o.prefix.find('\0') != std::string::npos)
    return invalid("redis: invalid prefix; give at most 512 bytes of UTF-8 without NUL");
  if (Status s = core::check_topics(o.accept, store_descriptor.topics()); !s) return s;
  if (o.prefix.starts_with("holdfast:"))
    return invalid("redis: keys that start with holdfast: are reserved; give another prefix");
  return Status{};
}

}  // namespace

Result<std::shared_ptr<Store>> store(Options options) {
  if (Status s = check(options); !s) return std::move(s).error();
  if (Status s = load_libhiredis(); !s) return std::move(s).error();
  if (Status s = options.tls ? load_openssl() : Status{}; !s) return std::move(s).error();
  std::shared_ptr<TlsContext> tls = options.tls ? std::make_shared<TlsContext>(options) : nullptr;
  return std::shared_ptr<Store>(std::make_shared<RedisStore>(std::move(options), std::move(tls)));
}

}  // namespace holdfast::redis
