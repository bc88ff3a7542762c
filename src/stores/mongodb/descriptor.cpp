// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/descriptor.h"

#include <cctype>

#include "base/driver.h"
#include "base/text.h"
#include "core/url_parameters.h"
#include "holdfast/mongodb.h"
#include "stores/mongodb/config.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

constexpr std::string_view store_titles[] = {"MongoDB"};
constexpr std::string_view url_schemes[] = {"mongodb", "mongodb+srv"};

constexpr UrlParameter url_parameters[] = {
    {"collection", "NAME", "the collection; with layout=shedlock the default is shedLock", "locks"},
    {"collections", "NAME:COLLECTION,…",
     "short names for other collections: client.in(NAME) is COLLECTION. A name that is not in the list is "
     "itself the name of a collection"},
    {"layout", "own|mongo-lock|shedlock",
     "mongo-lock, shedlock: works beside Ruby's mongo-lock or Java's ShedLock, on its documents", "own"},
    core::accept_parameter,
    core::unsafe_parameter,
};

std::string encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~' || c == ',' || c == ':')
      made += c;
    else
      made += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return made;
}

// NAME:COLLECTION,NAME:COLLECTION
Status read_collections(const Url& url, std::string_view list, Options& options) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == one.size())
      return invalid("collections=" + (core::may_be_quoted(url, store_descriptor) ? printable(one) : "***") +
                     ": invalid value; write collections=NAME:COLLECTION,…");
    options.collections.emplace(one.substr(0, colon), one.substr(colon + 1));
  }
  return Status{};
}

// A parameter that Holdfast does not know is the driver's.
Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Options options;
  std::string theirs;
  const auto other = [&](const std::string& name, const std::string& value) -> Status {
    if (name == "collection" && value.empty())
      return invalid("collection=: invalid value; write collection=NAME");
    if (name == "collections") return read_collections(url, value, options);
    if (name == "collection")
      options.collection = value;
    else if (name == "layout")
      options.layout = value == "own"        ? Layout::own
                       : value == "shedlock" ? Layout::shedlock
                                             : Layout::mongo_lock;
    else
      theirs += (theirs.empty() ? "?" : "&") + encoded(name) + "=" + encoded(value);
    return Status{};
  };
  if (Status s = core::read_parameters<Options>(url, store_descriptor, options, {}, other); !s)
    return std::move(s).error();
  const bool slash = url.rest.find('/', 2) != std::string::npos;
  options.uri = url.scheme + ":" + url.rest + (slash || theirs.empty() ? "" : "/") + theirs;
  return store(std::move(options));
}

std::vector<StoreLibrary> driver_versions() {
  const NoMongocFile no_file;
  return {{"libmongoc", text_or_empty(call_driver<const char* (*)()>(mongoc_soname, "mongoc_get_version"))}};
}

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "mongodb",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "mongodb://HOST/DATABASE",
    .page = "docs/stores/mongodb.md",
    .capabilities = {.push = true, .fair = true, .durable = true, .jobs = true},
    .parameters = url_parameters,
    .other_parameters = "an option of libmongoc",
    .topics = finding_topics,
    .open = open_url,
    .libraries = driver_versions,
};

}  // namespace holdfast::mongodb
