// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/open_url.h"

#include <cctype>

#include "base/text.h"
#include "holdfast/mongodb.h"
#include "stores/mongodb/config.h"

namespace holdfast::mongodb {
namespace {

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
Status read_collections(std::string_view list, Options& options) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == one.size())
      return invalid("collections=" + printable(one) +
                     ": invalid value; write collections=NAME:COLLECTION,…");
    options.collections.emplace(one.substr(0, colon), one.substr(colon + 1));
  }
  return Status{};
}

Status read_parameter(const std::string& name, const std::string& value, Options& options,
                      std::string& theirs) {
  if (name == "collection") {
    options.collection = value;
  } else if (name == "collections") {
    return read_collections(value, options);
  } else if (name == "layout") {
    if (value != "own" && value != "mongo-lock")
      return invalid("layout=" + printable(value) + ": invalid value; write layout=own or layout=mongo-lock");
    options.layout = value == "own" ? Layout::own : Layout::mongo_lock;
  } else if (name == "unsafe") {
    if (value != "allow")
      return invalid("unsafe=" + printable(value) + ": invalid value; write unsafe=allow");
    options.allow_unsafe = true;
  } else if (name == "accept") {
    options.accept = core::topics_in(value);
  } else {
    theirs += (theirs.empty() ? "?" : "&") + encoded(name) + "=" + encoded(value);
  }
  return Status{};
}

}  // namespace

// What is not ours is the driver's.
Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Options options;
  std::string theirs;
  for (const auto& [name, value] : url.parameters) {
    if (Status s = read_parameter(name, value, options, theirs); !s) return std::move(s).error();
  }
  const bool slash = url.rest.find('/', 2) != std::string::npos;
  options.uri = url.scheme + ":" + url.rest + (slash || theirs.empty() ? "" : "/") + theirs;
  return store(std::move(options));
}

}  // namespace holdfast::mongodb
