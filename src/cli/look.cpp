// SPDX-License-Identifier: Apache-2.0
#include "cli/look.h"

#include "cli/output.h"

namespace holdfast::cli {
namespace {

bool is_file(const Origin& origin) { return origin.name().starts_with("sqlite:"); }

std::string not_there(const Origin& origin) {
  return origin.name() + (is_file(origin)
                              ? " is not there: nobody has used it yet"
                              : " has no tables for leases, or not all of them: `holdfast init` makes them");
}

Result<Looked> look_at(const std::shared_ptr<Origin>& origin, Millis within = one_look) {
  Looked looked{origin, Operator(origin)};
  const auto unused = is_unused(origin, within);
  if (!unused) return unused.error();
  looked.unused = *unused;
  // A file that nobody has used yet is as good as an empty one.  But whoever points at a server means tables
  // that are there: a mistyped name must not look as if everything were free.
  if (looked.unused && !is_file(*origin)) return Error{Errc::unprepared, not_there(*origin)};
  return looked;
}

}  // namespace

Result<bool> is_unused(const std::shared_ptr<Origin>& origin, Millis within) {
  const Instant until = after(BootClock::now(), within);
  auto missing = origin->steward()->plan(until);
  // Who would make tables is refused for the sake of those of jobs too.
  const bool refused = !missing && missing.error().code == Errc::refused;
  if (!missing && (!refused || is_file(*origin))) return std::move(missing).error();
  if (!refused && missing->empty()) return false;
  // A file that nobody has used yet would be made by whoever connects.
  if (is_file(*origin)) return true;
  // What jobs need is not missed here: a server where leases can be kept has all that one can look at.
  const auto store = origin->connect(until);
  if (store) return false;
  if (store.error().code == Errc::unprepared) return true;
  return store.error();
}

Result<Looked> look_quietly(const Common& common, Millis within) {
  auto origin = try_origin(common.store);
  if (!origin) return std::move(origin).error();
  return look_at(*origin, within);
}

Result<Looked> look_at_store(const Common& common, Millis within) {
  auto looked = look_quietly(common, within);
  if (looked && looked->unused) complain(not_there(*looked->origin));
  return looked;
}

Instant soon() { return after(BootClock::now(), std::chrono::seconds(5)); }

Result<std::unique_ptr<JobEngine>> jobs_of(const Looked& looked) {
  if (looked.unused) return std::unique_ptr<JobEngine>();
  return looked.origin->jobs(soon());
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
