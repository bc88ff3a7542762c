// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/descriptor.h"

#include "base/driver.h"
#include "core/url_parameters.h"
#include "stores/postgres/driver.h"
#include "stores/postgres/fence.sql.h"
#include "stores/postgres/findings.h"
#include "stores/postgres/store.h"

namespace holdfast::postgres {
namespace {

constexpr std::string_view store_titles[] = {"PostgreSQL"};
constexpr std::string_view url_schemes[] = {"postgres", "postgresql"};

constexpr UrlParameter url_parameters[] = {
    {"table", "NAME",
     "the lock table; with a schema, SCHEMA.NAME; with layout=shedlock the default is shedlock", "locks"},
    {"layout", "own|shedlock", "shedlock: works beside Java's ShedLock, on its table", "own"},
    core::accept_parameter,
    core::unsafe_parameter,
};

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  // libpq reads the rest: it knows about several hosts, brackets and percent signs.
  Options options{.conninfo = "postgresql:" + url.rest};
  Words more;
  const auto other = [&](const std::string& name, const std::string& value) -> Status {
    if (name == "layout") {
      options.layout = value == "shedlock" ? Layout::shedlock : Layout::own;
    } else if (name != "table") {
      more.emplace_back(name, value);
    } else if (value.find('@') != std::string::npos) {
      return unreadable_address();  // of a password with a ? in it
    } else {
      options.table = value;
    }
    return Status{};
  };
  if (Status s = core::read_parameters<Options>(url, store_descriptor, options, {}, other); !s)
    return std::move(s).error();
  return make_store(options, more);
}

std::vector<StoreLibrary> driver_versions() {
  const auto number = call_driver<int (*)()>(libpq_soname, "PQlibVersion");  // 150004
  return {{"libpq", number ? std::to_string(*number / 10000) + "." + std::to_string(*number % 10000) : ""}};
}

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "postgres",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "postgres://USER@HOST/DATABASE",
    .page = "docs/stores/postgres.md",
    .tables = StoreTables::by_init,
    .capabilities = {.push = true, .fair = true, .durable = true, .jobs = true, .transactions = true},
    .parameters = url_parameters,
    .other_parameters = "a parameter of libpq, such as sslmode=",
    .password_variable = "PGPASSWORD",
    .topics = finding_topics,
    .fence = fence_sql,
    .open = open_url,
    .libraries = driver_versions,
};

}  // namespace holdfast::postgres
