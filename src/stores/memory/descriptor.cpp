// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/descriptor.h"

#include "base/text.h"
#include "base/url.h"
#include "core/url_parameters.h"
#include "holdfast/memory.h"

namespace holdfast::memory {
namespace {

constexpr std::string_view store_titles[] = {"memory"};
constexpr std::string_view url_schemes[] = {"memory"};

std::vector<std::string_view> finding_topics() { return {"memory.process"}; }

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  if (!url.rest.empty())
    return Error{Errc::invalid,
                 "memory: takes no path, but \"" + printable(url.rest) + "\" is given; write memory:"};
  for (const auto& [name, value] : url.parameters) {
    if (Status s = core::check_parameter(url, store_descriptor, name, value); !s) return std::move(s).error();
  }
  return store(make_database());
}

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "memory",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "memory:",
    .place = StorePlace::process,
    .capabilities = {.push = true, .fair = true, .jobs = true},
    .topics = finding_topics,
    .open = open_url,
};

}  // namespace holdfast::memory
