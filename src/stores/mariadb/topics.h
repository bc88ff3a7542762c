// SPDX-License-Identifier: Apache-2.0
// topics.h - what can be found here and accepted (accept=), by topic: the rows of the table in
// docs/stores/mariadb.md, for MySQL too.
#pragma once
#include <string_view>

namespace holdfast::mariadb {

inline constexpr std::string_view known_topics[] = {
    "mariadb.binlog-format",
    "mariadb.collation",
    "mariadb.columns",
    "mariadb.connections",
    "mariadb.engine",
    "mariadb.flush-log",
    "mariadb.galera",
    "mariadb.galera-state",
    "mariadb.group",
    "mariadb.jobs",
    "mariadb.layout",
    "mariadb.privileges",
    "mariadb.read-only",
    "mariadb.replica",
    "mariadb.semi-sync",
    "mariadb.several-servers",
    "mariadb.snapshot-isolation",
    "mariadb.superuser",
    "mariadb.sync-binlog",
    "mariadb.sysdate",
    "mariadb.tables",
    "mariadb.unseen",
    "mariadb.version",
};

}  // namespace holdfast::mariadb
