// SPDX-License-Identifier: Apache-2.0
// complete.h - what may stand at the cursor of a line that is being typed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/words/spec.h"

namespace holdfast::cli {

struct Offer {
  std::string word;
  std::string does = {};  // for shells that show it
};

struct Completion {
  // words: `offers`.  keys: those of the store.  files: the shell knows them.  command: the line of CMD,
  // which the shell completes as any other.
  enum class Kind : std::uint8_t { words, keys, files, command };
  Kind kind = Kind::words;
  std::string lead = {};           // keys, files: the beginning of the word that stays: "--store=@"
  std::vector<Offer> offers = {};  // not only those that begin like the word
  std::size_t cmd = 0;             // command: which word of the line is CMD
  std::string store = {};          // what --store says on the line
};

// `line` is what stands behind `holdfast`; the last word is the one at the cursor, up to the cursor.
Completion completion_of(const Words& line);

}  // namespace holdfast::cli
