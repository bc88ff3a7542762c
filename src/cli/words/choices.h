// SPDX-License-Identifier: Apache-2.0
// choices.h - what may be given where only a few words mean something.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// Of an option ("--sort") or a word of a command ("SHELL"); empty: anything may be given.
std::vector<std::string> choices_of(std::string_view option);

// "key, since or waiting".
std::string one_of_these(const std::vector<std::string>& words);

}  // namespace holdfast::cli
