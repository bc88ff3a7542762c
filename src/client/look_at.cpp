// SPDX-License-Identifier: Apache-2.0
#include "client/look_at.h"

namespace holdfast {

Result<LeaseRow> look_at(Store& store, Key key, Instant until) {
  auto found = store.list({.prefix = key.text, .exact = true, .limit = 1}, until);
  if (!found) return std::move(found).error();
  if (!found->leases.empty()) return std::move(found->leases.front());
  LeaseRow row;
  row.key = key.text;
  return row;
}

}  // namespace holdfast
