// SPDX-License-Identifier: Apache-2.0
// json_value.h - what the JSON of leases and the JSON of jobs have in common.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "holdfast/store.h"

namespace holdfast::cli {

using Json = nlohmann::ordered_json;

// Rows may be somebody else's: what is not UTF-8 is replaced, not thrown about.
inline std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

inline Json token_of(Token token) { return token == no_token ? Json() : Json(number(token)); }

}  // namespace holdfast::cli
