// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/descriptor.h"

#include "base/driver.h"
#include "base/text.h"
#include "core/url_parameters.h"
#include "holdfast/mariadb.h"
#include "stores/mariadb/driver.h"
#include "stores/mariadb/fence.sql.h"
#include "stores/mariadb/findings.h"
#include "stores/mariadb/layouts.h"

namespace holdfast::mariadb {
namespace {

constexpr std::string_view store_titles[] = {"MariaDB", "MySQL"};
constexpr std::string_view url_schemes[] = {"mariadb", "mysql"};

constexpr UrlParameter url_parameters[] = {
    {"table", "NAME",
     "the lock table; with layout=darwin the default is DARWIN_LOCK, with layout=shedlock shedlock", "locks"},
    {"layout", "own|darwin|shedlock",
     "darwin, shedlock: works beside Java's Darwin Locker or ShedLock, on its table", "own"},
    {"socket", "PATH", "the Unix socket of the server, in place of a host"},
    {"password", "PASSWORD", "the password of the user"},
    {"tls", "require", "uses TLS also with a server on this machine"},
    {"ssl-ca", "FILE", "the authority that signed the server's certificate", "those of the system"},
    {"ssl-cert", "FILE", "the certificate of the client, if the server wants one"},
    {"ssl-key", "FILE", "the key of that certificate"},
    core::accept_parameter,
    core::unsafe_parameter,
};
constexpr core::TextParameter<Options> text_parameters[] = {
    {"table", &Options::table},   {"socket", &Options::socket},     {"password", &Options::password},
    {"ssl-ca", &Options::ssl_ca}, {"ssl-cert", &Options::ssl_cert}, {"ssl-key", &Options::ssl_key},
};

Status read_address(const Url& url, Options& options) {
  auto address = parse_address(url.rest, core::may_be_quoted(url, store_descriptor));
  if (!address) return std::move(address).error();
  if (address->path.find('/') != std::string::npos)
    return Error{Errc::invalid, url.scheme +
                                    ": the host must be followed by the name of one database, like /app" +
                                    (address->clear ? ", not \"" + printable(address->path) + "\"" : "")};
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  if (!address->host.empty()) options.host = std::move(address->host);
  if (address->port != 0) options.port = address->port;
  options.database = std::move(address->path);
  return Status{};
}

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Options options{.mysql = url.scheme == "mysql"};
  const auto other = [&](const std::string& name, const std::string& value) {
    if (name == "layout") options.layout = layout_named(value);
    if (name == "tls") options.tls = true;
    return Status{};
  };
  if (Status s = read_address(url, options); !s) return std::move(s).error();
  if (Status s = core::read_parameters<Options>(url, store_descriptor, options, text_parameters, other); !s)
    return std::move(s).error();
  return store(std::move(options));
}

std::vector<StoreLibrary> driver_versions() {
  return {{"libmariadb",
           text_or_empty(call_driver<const char* (*)()>(libmariadb_soname, "mysql_get_client_info"))}};
}

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "mariadb",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "mariadb://USER@HOST/DATABASE",
    .page = "docs/stores/mariadb.md",
    .tables = StoreTables::by_init,
    .capabilities = {.fair = true, .durable = true, .jobs = true},
    .parameters = url_parameters,
    .password_variable = "MYSQL_PWD",
    .topics = finding_topics,
    .fence = fence_sql,
    .open = open_url,
    .libraries = driver_versions,
};

}  // namespace holdfast::mariadb
