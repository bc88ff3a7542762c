// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/descriptor.h"

#include <sqlite3.h>

#include "base/text.h"
#include "core/url_parameters.h"
#include "holdfast/sqlite.h"
#include "stores/sqlite/fence.sql.h"
#include "stores/sqlite/findings.h"

namespace holdfast::sqlite {
namespace {

constexpr std::string_view store_titles[] = {"SQLite"};
constexpr std::string_view url_schemes[] = {"sqlite"};

constexpr UrlParameter url_parameters[] = {
    {"table", "NAME", "the lock table", "locks"},
    core::accept_parameter,
    core::unsafe_parameter,
};
constexpr core::TextParameter<Options> text_parameters[] = {{"table", &Options::table}};

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  auto path = percent_decoded(url.rest);
  if (!path) return std::move(path).error();
  if (path->empty()) return Error{Errc::invalid, "sqlite: names no file; write sqlite:PATH"};
  if (path->starts_with("//") && !path->starts_with("///"))
    return Error{Errc::invalid, "sqlite:" + printable(*path) +
                                    " names a host, which SQLite does not have; write sqlite:PATH"};
  if (path->starts_with("~"))
    return Error{Errc::invalid, "sqlite:" + printable(*path) +
                                    ": ~ is not expanded in a URL; write the whole path, or sqlite:$HOME/…"};
  Options options{.path = *std::move(path)};
  if (Status s = core::read_parameters<Options>(url, store_descriptor, options, text_parameters); !s)
    return std::move(s).error();
  return store(std::move(options));
}

std::vector<StoreLibrary> driver_versions() { return {{"SQLite", ::sqlite3_libversion()}}; }

std::string url_of_default() { return "sqlite:" + as_path_of_url(default_path()); }

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "sqlite",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "sqlite:PATH",
    .page = "docs/stores/sqlite.md",
    .place = StorePlace::file,
    .tables = StoreTables::at_first_use,
    .capabilities = {.push = true, .fair = true, .durable = true, .jobs = true, .transactions = true},
    .parameters = url_parameters,
    .topics = finding_topics,
    .fence = fence_sql,
    .open = open_url,
    .libraries = driver_versions,
    .default_url = url_of_default,
};

}  // namespace holdfast::sqlite
