// SPDX-License-Identifier: Apache-2.0
// code.h - the check for resources that are databases, to be run there: src/cli/fence/code/.
#pragma once
#include <optional>
#include <string_view>

namespace holdfast::cli {

// For sqlite, postgres, mariadb (and mysql), redis; nothing for any other.
std::optional<std::string_view> fence_code(std::string_view where) noexcept;

}  // namespace holdfast::cli
