// SPDX-License-Identifier: Apache-2.0
// url_parameters.h - the parameters of a store's URL, read by the table in the store's descriptor.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/url.h"
#include "core/findings.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::core {

// A parameter whose value becomes a field of the store's options as it is.
template <class Options>
struct TextParameter {
  std::string_view name;
  std::string Options::*field;
};

using SetParameter = std::function<Status(const std::string& name, const std::string& value)>;

// Whether an error may quote this URL.  With an @ behind the ?, what is before it may be the beginning of a
// password.
bool may_be_quoted(const Url& url, const StoreDescriptor& store);

// "NAME is not a parameter of SCHEME: URLs; write …": the list is made of the store's table.  REQUIRES:
// `name` may be quoted.
Error unknown_parameter(const StoreDescriptor& store, std::string_view scheme, std::string_view name);

// Errc::invalid for a name that is not in the table, unless the store passes others on, and for a value that
// is not one of those that the table allows.
Status check_parameter(const Url& url, const StoreDescriptor& store, const std::string& name,
                       const std::string& value);

// Reads all parameters into `options`.  Those that are neither texts nor the same in all stores are given to
// `other`, also those that are not in the table of a store that passes them on.
template <class Options>
Status read_parameters(const Url& url, const StoreDescriptor& store, Options& options,
                       std::span<const TextParameter<Options>> texts, const SetParameter& other = {}) {
  const auto set = [&](const std::string& name, const std::string& value) -> Status {
    for (const TextParameter<Options>& text : texts) {
      if (text.name == name) {
        options.*text.field = value;
        return Status{};
      }
    }
    return other(name, value);
  };
  for (const auto& [name, value] : url.parameters) {
    if (Status s = check_parameter(url, store, name, value); !s) return s;
    if (name == "unsafe") {
      options.allow_unsafe = true;
    } else if (name == "accept") {
      options.accept = topics_in(value);
    } else if (Status s = set(name, value); !s) {
      return s;
    }
  }
  return Status{};
}

// The two that every store has.
inline constexpr UrlParameter accept_parameter{
    .name = "accept",
    .value = "TOPIC[,TOPIC]",
    .meaning =
        "accepts these findings of doctor: Holdfast neither warns about them nor refuses the store for them"};
inline constexpr UrlParameter unsafe_parameter{
    .name = "unsafe", .value = "allow", .meaning = "accepts all findings that can be accepted"};

}  // namespace holdfast::core
