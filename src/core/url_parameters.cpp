// SPDX-License-Identifier: Apache-2.0
#include "core/url_parameters.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"

namespace holdfast::core {
namespace {

// "a, b or c".
std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

// The only values that it may have; empty: any.
std::vector<std::string> values_of(const UrlParameter& parameter) {
  std::vector<std::string> values;
  std::string_view list = parameter.value;
  if (list.empty() || std::islower(static_cast<unsigned char>(list.front())) == 0) return values;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find('|'));
    values.emplace_back(one);
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return values;
}

std::vector<std::string> written(const StoreDescriptor& store, const auto& which) {
  std::vector<std::string> all;
  for (const UrlParameter& parameter : store.parameters) {
    if (which(parameter)) all.push_back(std::string(parameter.name) + "=" + std::string(parameter.value));
  }
  return all;
}

std::string known_parameters(const StoreDescriptor& store, std::string_view scheme) {
  std::vector<std::string> here =
      written(store, [&](const auto& p) { return p.scheme.empty() || p.scheme == scheme; });
  if (!store.other_parameters.empty()) here.emplace_back(store.other_parameters);
  if (here.empty()) return "there are none";
  std::string text = "write " + one_of(here);
  for (const std::string_view other : store.schemes) {
    const auto there = written(store, [&](const auto& p) { return p.scheme == other && other != scheme; });
    if (!there.empty()) text += ", and for " + std::string(other) + ": " + one_of(there);
  }
  return text;
}

}  // namespace

bool may_be_quoted(const Url& url, const StoreDescriptor& store) {
  if (store.place == StorePlace::file) return true;
  const bool has_password = std::any_of(store.parameters.begin(), store.parameters.end(),
                                        [](const UrlParameter& p) { return p.name == "password"; });
  return std::none_of(url.parameters.begin(), url.parameters.end(), [&](const auto& parameter) {
    const bool is_password = has_password && parameter.first == "password";
    return !is_password && (parameter.first + parameter.second).find('@') != std::string::npos;
  });
}

Error unknown_parameter(const StoreDescriptor& store, std::string_view scheme, std::string_view name) {
  return {Errc::invalid, "\"" + printable(name) + "\" is not a parameter of " + std::string(scheme) +
                             ": URLs; " + known_parameters(store, scheme)};
}

Status check_parameter(const Url& url, const StoreDescriptor& store, const std::string& name,
                       const std::string& value) {
  const auto shown = [&](const std::string& text) { return may_be_quoted(url, store) ? text : "***"; };
  const auto found = std::find_if(store.parameters.begin(), store.parameters.end(), [&](const auto& p) {
    return p.name == name && (p.scheme.empty() || p.scheme == url.scheme);
  });
  if (found == store.parameters.end())
    return store.other_parameters.empty() ? unknown_parameter(store, url.scheme, shown(name)) : Status{};
  std::vector<std::string> allowed = values_of(*found);
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return Status{};
  for (std::string& one : allowed) one.insert(0, name + "=");
  return Error{Errc::invalid,
               name + "=" + printable(shown(value)) + ": invalid value; write " + one_of(allowed)};
}

}  // namespace holdfast::core
