// SPDX-License-Identifier: Apache-2.0
// topics.h - what can be found here and accepted (accept=), by topic: the rows of the table in
// docs/stores/postgres.md.
#pragma once
#include <string_view>

namespace holdfast::postgres {

inline constexpr std::string_view known_topics[] = {
    "postgres.bloat",
    "postgres.columns",
    "postgres.connections",
    "postgres.fillfactor",
    "postgres.fsync",
    "postgres.full-page-writes",
    "postgres.isolation",
    "postgres.jobs",
    "postgres.kind",
    "postgres.listen",
    "postgres.notify-queue",
    "postgres.owner",
    "postgres.pooler",
    "postgres.privileges",
    "postgres.read-only",
    "postgres.recovery",
    "postgres.row-security",
    "postgres.search-path",
    "postgres.several-servers",
    "postgres.standby",
    "postgres.superuser",
    "postgres.synchronous-commit",
    "postgres.tables",
    "postgres.tls",
    "postgres.triggers",
    "postgres.unlogged",
    "postgres.unseen",
};

}  // namespace holdfast::postgres
