// SPDX-License-Identifier: Apache-2.0
// open.cpp - from a URL to a client.
#include <algorithm>

#include "base/text.h"
#include "base/url.h"
#include "client/stores.h"
#include "holdfast/client.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast {
namespace {

Error unknown_scheme(const std::string& scheme) {
  const auto left_out = schemes_not_built();
  if (std::find(left_out.begin(), left_out.end(), scheme) != left_out.end())
    return {Errc::invalid,
            "this build of holdfast does not support " + scheme + ": URLs; install one that does"};
  std::string known;
  for (const StoreDescriptor& store : store_descriptors()) {
    for (const std::string_view one : store.schemes)
      known += (known.empty() ? "" : ", ") + std::string(one) + ":";
  }
  return {Errc::invalid,
          "\"" + printable(scheme) + ":\" is not a known kind of store; write one of " + known};
}

}  // namespace

Result<std::shared_ptr<Store>> try_store(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return url.error();
  const StoreDescriptor* const store = descriptor_of(text);
  if (store == nullptr) return unknown_scheme(url->scheme);
  return store->open(*url);
}

Result<Client> try_open(std::string_view url, ClientOptions options) {
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  return Client::try_make(*std::move(store), std::move(options));
}

Result<Client> Client::try_open(std::string_view url, ClientOptions options) {
  return holdfast::try_open(url, std::move(options));
}

Client open(std::string_view url, ClientOptions options) { return try_open(url, std::move(options)).value(); }

}  // namespace holdfast
