// SPDX-License-Identifier: Apache-2.0
// json_value.h - what all JSON that we print has in common.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "holdfast/spi/store.h"

namespace holdfast::cli {

using Json = nlohmann::ordered_json;

// Rows may be somebody else's.  What is not UTF-8 is replaced, not thrown about; what is not ASCII is
// escaped, for some of it is no text: controls, and characters that reorder or hide others on a terminal.
inline std::string line_of(const Json& json) {
  constexpr bool as_ascii = true;
  return json.dump(-1, ' ', as_ascii, Json::error_handler_t::replace);
}

inline Json micros_of(Moment moment) { return moment.time_since_epoch().count(); }
inline Json token_of(Token token) { return token == no_token ? Json() : Json(to_number(token)); }

}  // namespace holdfast::cli
