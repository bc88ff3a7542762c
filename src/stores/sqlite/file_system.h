// SPDX-License-Identifier: Apache-2.0
// file_system.h - whether what one process locks in a file holds for all who see it.
#pragma once
#include <cstdint>
#include <string>

namespace holdfast::sqlite {

// The kind of file system, by the number that statfs(2) gives; zero if it gives none.
std::uint32_t file_system_of(const std::string& path);

// Its name, if locks or shared memory may not reach every process there; null: they do, or it is unknown to
// us and taken for local.
const char* unsafe_file_system(std::uint32_t kind) noexcept;

// Whether a file there may be another one for every container, or gone when the machine starts again: its
// name, or null.
const char* passing_file_system(std::uint32_t kind) noexcept;

}  // namespace holdfast::sqlite
