// SPDX-License-Identifier: Apache-2.0
#include "cli/look.h"

#include "cli/output.h"

namespace holdfast::cli {
namespace {

std::string not_there(const Origin& origin) {
  const bool is_file = origin.name().starts_with("sqlite:");
  return origin.name() + (is_file
                              ? " is not there: nobody has used it yet"
                              : " has no tables for leases, or not all of them: `holdfast init` makes them");
}

Result<Looked> look_at(const std::shared_ptr<Origin>& origin) {
  Looked looked{Operator(origin)};
  auto missing = looked.by_hand.try_plan();
  if (!missing) return std::move(missing).error();
  looked.unused = !missing->empty();
  return looked;
}

}  // namespace

Result<Looked> look_at_store(const Common& common) {
  auto origin = try_origin(common.store);
  if (!origin) return std::move(origin).error();
  auto looked = look_at(*origin);
  if (looked && looked->unused) complain(not_there(**origin));
  return looked;
}

Result<Client> open_used_store(const Common& common) {
  auto origin = try_origin(common.store);
  if (!origin) return std::move(origin).error();
  auto looked = look_at(*origin);
  if (!looked) return std::move(looked).error();
  if (looked->unused) return Error{Errc::lost, not_there(**origin)};
  return Client::try_make(*std::move(origin));
}

}  // namespace holdfast::cli
