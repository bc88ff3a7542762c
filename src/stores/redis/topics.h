// SPDX-License-Identifier: Apache-2.0
// topics.h - what can be found here and accepted (accept=), by topic: the rows of the table in
// docs/stores/redis.md.
#pragma once
#include <string_view>

namespace holdfast::redis {

inline constexpr std::string_view known_topics[] = {
    "redis.account",         "redis.append-errors",  "redis.appendfsync", "redis.appendonly",
    "redis.client-eviction", "redis.cluster",        "redis.connections", "redis.evicted",
    "redis.eviction",        "redis.identity",       "redis.kind",        "redis.known-holes",
    "redis.layout",          "redis.memory",         "redis.no-password", "redis.other-keys",
    "redis.replica",         "redis.replicas",       "redis.restarted",   "redis.rewrite-errors",
    "redis.rights",          "redis.rights-of-jobs", "redis.sentinel",    "redis.tls",
    "redis.unseen",
};

}  // namespace holdfast::redis
