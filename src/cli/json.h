// SPDX-License-Identifier: Apache-2.0
// json.h - the structs of the library as JSON, one object per line.
//
// Fields are named as in the structs.  A number whose type carried its unit has the unit as the last word
// of its name: remaining_ms, since_us.  A lease without end has remaining_ms null.  held_for_ms, host and pid
// are computed: null if nobody holds the key, or if they are unknown.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/see/changes.h"
#include "holdfast/admin.h"

namespace holdfast::cli {

std::string json_of(const LeaseRow& row);
// A lease with the key's queue and log inside: "places", "log".
std::string json_of(const Inspection& found);
// All rows of one snapshot: "at_us", "leases".
std::string json_of(const Snapshot& snapshot);
std::string json_of(const Change& change);
std::string json_of(const Purged& purged);
std::string json_of(const Lease& lease);
std::string json_of_renewal(const std::string& key, const std::string& owner, Millis remaining);

// A flat object of texts, in the order given.
std::string json_of_texts(const std::vector<std::pair<std::string, std::string>>& fields);

// ---- for other objects

using Json = nlohmann::ordered_json;

// The text of the object.  Other programs may have written the rows: bytes that are not UTF-8 are replaced,
// and characters that are not ASCII are escaped, because some control a terminal or reorder and hide other
// text.
std::string line_of(const Json& json);

Json micros_of(Moment moment);
Json token_of(Token token);  // null for no_token

}  // namespace holdfast::cli
