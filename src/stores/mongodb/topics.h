// SPDX-License-Identifier: Apache-2.0
// topics.h - what can be found here and accepted (accept=), by topic: the rows of the table in
// docs/stores/mongodb.md.
#pragma once
#include <string_view>

namespace holdfast::mongodb {

inline constexpr std::string_view known_topics[] = {
    "mongodb.account",        "mongodb.arbiters",    "mongodb.clocks",
    "mongodb.collection",     "mongodb.connections", "mongodb.identity",
    "mongodb.in-memory",      "mongodb.journal",     "mongodb.layout",
    "mongodb.no-password",    "mongodb.replica",     "mongodb.rights",
    "mongodb.rights-of-jobs", "mongodb.router",      "mongodb.sharded",
    "mongodb.standalone",     "mongodb.tls",         "mongodb.ttl-index",
    "mongodb.unique-index",   "mongodb.unseen",      "mongodb.version",
    "mongodb.write-concern",
};

}  // namespace holdfast::mongodb
