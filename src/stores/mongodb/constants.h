// SPDX-License-Identifier: Apache-2.0
// constants.h - values for the variables of a pipeline.
#pragma once
#include "core/row.h"
#include "stores/mongodb/bson.h"

namespace holdfast::mongodb {

// `let` takes expressions, so each value has to be told that it is none: a holder may be called "$token". The
// constants of the update command (`c`) are taken as they are.
class Constants {
 public:
  explicit Constants(bool literally) : literally_(literally) {}

  Constants& text(std::string_view name, std::string_view value) {
    return put(name, [&](Document& d, std::string_view n) { d.text(n, value); });
  }
  Constants& number(std::string_view name, std::int64_t value) {
    return put(name, [&](Document& d, std::string_view n) { d.number(n, value); });
  }
  Constants& flag(std::string_view name, bool value) {
    return put(name, [&](Document& d, std::string_view n) { d.flag(n, value); });
  }
  Constants& moment(std::string_view name, std::optional<Micros> value) {
    return put(name, [&](Document& d, std::string_view n) { d.moment(n, value); });
  }
  // In milliseconds; null for `never`.
  Constants& length(std::string_view name, Millis value) {
    const auto micros = core::length_of(value);
    if (micros) return number(name, *micros / 1000);
    return put(name, [](Document& d, std::string_view n) { d.null(n); });
  }

  const Document& all() const noexcept { return all_; }

 private:
  template <class Add>
  Constants& put(std::string_view name, Add add) {
    if (!literally_) {
      add(all_, name);
      return *this;
    }
    Document literal;
    add(literal, "$literal");
    all_.document(name, literal);
    return *this;
  }

  const bool literally_;
  Document all_;
};

}  // namespace holdfast::mongodb
