// SPDX-License-Identifier: Apache-2.0
#include "client/read_lease.h"

namespace holdfast {

Result<LeaseRow> read_lease(StoreConnection& connection, Key key, Instant until) {
  auto found = connection.list({.prefix = key.text, .exact = true, .limit = 1}, until);
  if (!found) return std::move(found).error();
  if (!found->leases.empty()) return std::move(found->leases.front());
  LeaseRow row;
  row.key = key.text;
  return row;
}

}  // namespace holdfast
