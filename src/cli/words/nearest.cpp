// SPDX-License-Identifier: Apache-2.0
#include "cli/words/nearest.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

std::size_t tolerated(std::string_view a, std::string_view b) {
  const std::size_t length = std::max(a.size(), b.size());
  return length < 2 ? 0 : std::max<std::size_t>(1, length / 3);
}

}  // namespace

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::size_t distance(std::string_view a, std::string_view b) {
  // The distances of the prefixes of `a` with i-2, i-1 and i letters to each prefix of `b`.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
  }
  return now[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 0;
  for (const std::string& candidate : known) {
    const std::size_t most = tolerated(word, candidate);
    // Checked first, because distance() is slow and a word may be very long.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) > most) continue;
    const std::size_t away = distance(lower(word), lower(candidate));
    if (away > most || (!best.empty() && away >= least)) continue;
    best = candidate;
    least = away;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  return suggestion_of(nearest(word, known));
}

std::string suggestion_of(const std::string& meant) {
  return meant.empty() ? "; " : "; did you mean " + meant + "? ";
}

}  // namespace holdfast::cli
