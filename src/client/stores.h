// SPDX-License-Identifier: Apache-2.0
// stores.h - the stores that this library could have.
#pragma once
#include <span>
#include <string_view>

namespace holdfast {

// The schemes of stores that were left out of this build.
std::span<const std::string_view> schemes_not_built();

}  // namespace holdfast
