// SPDX-License-Identifier: Apache-2.0
#include "cli/look.h"

#include "cli/output.h"

namespace holdfast::cli {

Result<Looked> look_at_store(const Common& common) {
  auto origin = try_origin(common.store);
  if (!origin) return std::move(origin).error();
  const std::string name = (*origin)->name();
  Looked looked{Operator(*std::move(origin))};
  auto missing = looked.by_hand.try_plan();
  if (!missing) return std::move(missing).error();
  looked.unused = !missing->empty();
  if (looked.unused) complain(name + " is not there: nobody has used it yet");
  return looked;
}

}  // namespace holdfast::cli
