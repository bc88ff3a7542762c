// SPDX-License-Identifier: Apache-2.0
// topics.h - what can be found here and accepted (accept=), by topic: the rows of the table in
// docs/stores/sqlite.md.
#pragma once
#include <string_view>

namespace holdfast::sqlite {

inline constexpr std::string_view known_topics[] = {
    "sqlite.boot",           "sqlite.contents",       "sqlite.copies",     "sqlite.file",
    "sqlite.file-system",    "sqlite.foreign-folder", "sqlite.jobs",       "sqlite.library",
    "sqlite.open-folder",    "sqlite.passing",        "sqlite.power-loss", "sqlite.processes",
    "sqlite.read-only",      "sqlite.replaced",       "sqlite.room",       "sqlite.sticky-folder",
    "sqlite.time-namespace",
};

}  // namespace holdfast::sqlite
