// SPDX-License-Identifier: Apache-2.0
#include "core/grade.h"

#include <algorithm>

#include "holdfast/spi/store.h"

namespace holdfast {

const char* to_string(Weight weight) noexcept {
  switch (weight) {
    case Weight::note: return "note";
    case Weight::warning: return "warning";
    case Weight::danger: return "danger";
  }
  return "?";
}

Result<Diagnosis> StoreAdmin::diagnose(Instant) { return Diagnosis{}; }

namespace core {

char grade_of(char best, std::span<const Finding> findings) noexcept {
  char grade = best;
  for (const Finding& finding : findings) {
    if (finding.weight == Weight::warning) grade = std::max(grade, 'C');
    if (finding.weight == Weight::danger) grade = 'D';
  }
  return grade;
}

}  // namespace core
}  // namespace holdfast
