// SPDX-License-Identifier: Apache-2.0
#include <strings.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/text.h"
#include "base/url.h"
#include "core/fixed_now.h"
#include "core/url_parameters.h"
#include "stores/mongodb/admin.h"
#include "stores/mongodb/config.h"
#include "stores/mongodb/descriptor.h"
#include "stores/mongodb/jobs.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {
namespace {

// Holdfast appends suffixes to it, and MongoDB reserves some names.
Status check_collection(std::string_view name) {
  const auto odd = [](unsigned char c) {
    return c < ' ' || c == '$' || c == '"' || c == '\\' || c == '/' || c == 0x7f;
  };
  const bool good = !name.empty() && name.size() <= 180 && is_utf8(name) && !name.starts_with("system.") &&
                    name.front() != '.' && name.back() != '.' && std::none_of(name.begin(), name.end(), odd);
  if (!good)
    return invalid("\"" + printable(name) +
                   "\" cannot be a collection name; give letters, digits, _, - and .");
  for (const char* ours : {".holdfast", ".holdfast_log", ".holdfast_jobs", ".holdfast_ticks"})
    if (name.ends_with(ours))
      return invalid("names that end in " + std::string(ours) + " are reserved; give another collection");
  return Status{};
}

class MongoStore final : public Store, public core::FixedNow {
 public:
  explicit MongoStore(StoreConfig config) : config_(std::make_shared<const StoreConfig>(std::move(config))) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    try {
      return std::unique_ptr<StoreConnection>(std::make_unique<MongoStoreConnection>(config_, until));
    } catch (const Failure& failure) {
      return failure.error();
    }
  }

  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<MongoStoreAdmin>(config_); }

  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    if (config_->beside_shedlock())
      return Error{Errc::refused,
                   name() +
                       " cannot keep jobs: with layout=shedlock, ShedLock's documents decide about locks "
                       "too; use the native layout for jobs, without layout=shedlock"};
    if (config_->beside_the_gem())
      return Error{Errc::refused,
                   name() +
                       " cannot keep jobs: with layout=mongo-lock, Ruby processes can take their locks away; "
                       "remove layout=mongo-lock, or name another collection for jobs"};
    try {
      return std::unique_ptr<JobEngine>(std::make_unique<MongoEngine>(config_, until));
    } catch (const Failure& failure) {
      return failure.error();
    }
  }

  Result<std::shared_ptr<Store>> in(std::string_view table) override {
    const auto named = config_->options.collections.find(std::string(table));
    StoreConfig other = *config_;
    other.options.collection =
        named == config_->options.collections.end() ? std::string(table) : named->second;
    if (Status s = check_collection(other.options.collection); !s) return std::move(s).error();
    other.client = random_hex(16);
    return std::shared_ptr<Store>(std::make_shared<MongoStore>(std::move(other)));
  }

  void fix_now(Micros now) override {
    StoreConfig fixed = *config_;
    fixed.fixed_now = now;
    config_ = std::make_shared<const StoreConfig>(std::move(fixed));
  }
  Micros tick() const override { return Millis(1); }

  std::string name() const override { return config_->name(); }
  const std::string& client() const noexcept override { return config_->client; }

 private:
  std::shared_ptr<const StoreConfig> config_;
};

std::string hosts_of(const mongoc_uri_t* uri) {
  std::string hosts;
  for (const mongoc_host_list_t* h = mongoc_uri_get_hosts(uri); h; h = h->next)
    hosts += (hosts.empty() ? "" : ",") + std::string(h->host_and_port);
  if (const char* service = mongoc_uri_get_srv_hostname(uri)) hosts = service;
  return printable(hosts);
}

bool all_local(const mongoc_uri_t* uri) {
  if (mongoc_uri_get_srv_hostname(uri)) return false;
  for (const mongoc_host_list_t* h = mongoc_uri_get_hosts(uri); h; h = h->next)
    if (!is_this_machine(*h)) return false;
  return true;
}

// The URL decides it.
bool mentions_tls(const mongoc_uri_t* uri) {
  return mongoc_uri_has_option(uri, MONGOC_URI_TLS) || mongoc_uri_has_option(uri, MONGOC_URI_SSL);
}

// The driver ignores options that it does not know, and a process with a typing error would use another
// collection than the others.
bool is_known(const std::string& name) {
  if (mongoc_uri_option_is_bool(name.c_str()) || mongoc_uri_option_is_int32(name.c_str()) ||
      mongoc_uri_option_is_int64(name.c_str()) || mongoc_uri_option_is_utf8(name.c_str()))
    return true;
  for (const char* other :
       {MONGOC_URI_AUTHSOURCE, MONGOC_URI_AUTHMECHANISM, MONGOC_URI_AUTHMECHANISMPROPERTIES,
        MONGOC_URI_COMPRESSORS, MONGOC_URI_READCONCERNLEVEL, MONGOC_URI_READPREFERENCETAGS, MONGOC_URI_W})
    if (strcasecmp(name.c_str(), other) == 0) return true;
  return false;
}

// REQUIRES: the driver has understood it.
Status check_parameters(std::string_view uri) {
  const std::size_t database = uri.find('/', uri.find("://") + 3);
  const std::size_t begin = uri.find('?', std::min(database, uri.size()));
  std::string_view list = uri.substr(std::min(begin, uri.size()));
  while (!list.empty()) {
    list.remove_prefix(1);
    const std::string_view one = list.substr(0, list.find_first_of("&;"));
    const std::string name(one.substr(0, one.find('=')));
    if (!one.empty() && !is_known(name))
      return core::unknown_parameter(store_descriptor, store_descriptor.schemes.front(), name);
    list.remove_prefix(one.size());
  }
  return Status{};
}

// The option that switches off the check of the server's certificate; null: it is checked.
const char* lax_option(const mongoc_uri_t* uri) {
  for (const char* lax :
       {MONGOC_URI_TLSINSECURE, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES, MONGOC_URI_TLSALLOWINVALIDHOSTNAMES,
        MONGOC_URI_SSLALLOWINVALIDCERTIFICATES, MONGOC_URI_SSLALLOWINVALIDHOSTNAMES})
    if (mongoc_uri_get_option_as_bool(uri, lax, false)) return lax;
  return nullptr;
}

// The driver does not require TLS by itself.
Status check_tls(const mongoc_uri_t* uri, const Options& o) {
  if (core::Accepted{o.allow_unsafe, o.accept}.covers("mongodb.tls")) return Status{};
  if (const char* lax = lax_option(uri))
    return Error{Errc::refused,
                 "mongodb: " + std::string(lax) +
                     " switches off the check of the server's certificate; remove it and set tlsCAFile=, "
                     "or add accept=mongodb.tls at your own risk"};
  if (!mentions_tls(uri) && !mongoc_uri_get_tls(uri) && !all_local(uri))
    return Error{Errc::refused, "mongodb: " + hosts_of(uri) + about_plaintext};
  return Status{};
}

}  // namespace

Result<std::shared_ptr<Store>> store(Options options) {
  if (Status s = load_mongoc(); !s) return std::move(s).error();
  bson_error_t error{};
  // The driver's words are not repeated: they may hold a part of the password.
  const std::shared_ptr<mongoc_uri_t> uri(mongoc_uri_new_with_error(options.uri.c_str(), &error),
                                          [](mongoc_uri_t* u) { mongoc_uri_destroy(u); });
  if (!uri)
    return invalid(
        "invalid URL; write mongodb://user:password@host:port/database?option=value, "
        "with %40 for @, %3A for :, %2F for / inside user and password");
  if (Status s = check_parameters(options.uri); !s) return std::move(s).error();
  const char* database = mongoc_uri_get_database(uri.get());
  if (!database || std::strlen(database) == 0)
    return invalid("no database is given; write mongodb://host/database");
  if (options.collection.empty())
    options.collection = options.layout == Layout::shedlock ? "shedLock" : "locks";
  if (Status s = check_collection(options.collection); !s) return std::move(s).error();
  for (const auto& [name, collection] : options.collections)
    if (Status s = check_collection(collection); !s) return std::move(s).error();
  if (Status s = core::check_topics(options.accept, store_descriptor.topics()); !s)
    return std::move(s).error();
  if (Status s = check_tls(uri.get(), options); !s) return std::move(s).error();
  mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_SERVERSELECTIONTRYONCE, true);
  if (!mongoc_uri_get_appname(uri.get())) mongoc_uri_set_appname(uri.get(), "holdfast");
  StoreConfig config{
      .options = std::move(options),
      .uri = uri,
      .database = database,
      .place = hosts_of(uri.get()),
      .secrets = {},
      .client = random_hex(16),
      .local = all_local(uri.get()),
      .tls = mongoc_uri_get_tls(uri.get()),
      .verified = lax_option(uri.get()) == nullptr,
      .logs_in = mongoc_uri_get_username(uri.get()) || mongoc_uri_get_auth_mechanism(uri.get())};
  config.plaintext_allowed = mentions_tls(uri.get()) || config.accepted().covers("mongodb.tls");
  if (const char* password = mongoc_uri_get_password(uri.get())) config.secrets.emplace_back(password);
  for (std::string& secret : secrets_in(config.options.uri)) config.secrets.push_back(std::move(secret));
  return std::shared_ptr<Store>(std::make_shared<MongoStore>(std::move(config)));
}

}  // namespace holdfast::mongodb
