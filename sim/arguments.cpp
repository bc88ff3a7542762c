// SPDX-License-Identifier: Apache-2.0
#include "sim/arguments.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace holdfast::sim {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Mutant> mutant_named(std::string_view name) {
  for (const Mutant mutant : all<Mutant>) {
    if (name == to_string(mutant)) return mutant;
  }
  return std::nullopt;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string mutants() {
  std::string names;
  for (const Mutant mutant : all<Mutant>)
    names += (names.empty() ? "" : ", ") + std::string(to_string(mutant));
  return names;
}

}  // namespace

std::string parse(int argc, const char* const* argv, Arguments& arguments) {
  bool one = false, many = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--trace") {
      arguments.trace = true;
      continue;
    }
    if (word == "--seeds" || word == "--from" || word == "--mutant" || word == "--less") {
      if (++i == argc) return std::string(word) + " needs a value";
      const std::string_view value = argv[i];
      if (word == "--less") {
        if (std::string wrong = parse(value, arguments.less); !wrong.empty()) return wrong;
        continue;
      }
      if (word == "--mutant") {
        const auto mutant = mutant_named(value);
        if (!mutant) return in_quotes(value) + " is not a mutant; write one of " + mutants();
        arguments.mutant = *mutant;
        continue;
      }
      const auto number = number_in(value);
      if (!number) return std::string(word) + " needs a whole number, not " + in_quotes(value);
      if (word == "--seeds" && *number == 0) return "--seeds needs at least 1";
      (word == "--seeds" ? arguments.seeds : arguments.from) = *number;
      many = true;
      continue;
    }
    const auto seed = number_in(word);
    if (!seed || one)
      return in_quotes(word) +
             ": unknown argument; write SEED [--trace] or --seeds N [--from SEED], and --mutant NAME and "
             "--less "
             "WORDS if you like";
    arguments.from = *seed;
    arguments.seeds = 0;
    one = true;
  }
  if (one && many) return "give either a SEED or --seeds and --from, not both";
  if (arguments.trace && !one) return "--trace needs a SEED";
  return {};
}

}  // namespace holdfast::sim
