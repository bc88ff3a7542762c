// SPDX-License-Identifier: Apache-2.0
#include "cli/open_store.h"

#include "base/text.h"
#include "cli/output.h"
#include "cli/setup/secrets.h"
#include "cli/setup/store_url.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

bool is_file(const Store& store) {
  const StoreDescriptor* const known = find_store(store.name());
  return known != nullptr && known->place == StorePlace::file;
}

std::string not_there(const Store& store, const Common& common) {
  return store.name() + (is_file(store) ? " does not exist: nobody has used this store yet"
                                        : " lacks some or all of the tables for leases; create them with `" +
                                              init_command(common) + "`");
}

Result<Looked> look_at(const std::shared_ptr<Store>& store, const Common& common, Millis within = one_look) {
  Looked looked{store, Admin(store)};
  const auto unused = is_unused(store, within);
  if (!unused) return unused.error();
  looked.unused = *unused;
  // A file that nobody has used yet is as good as an empty one.  But whoever points at a server means tables
  // that are there: a mistyped name must not look as if everything were free.
  if (looked.unused && !is_file(*store)) return Error{Errc::unprepared, not_there(*store, common)};
  return looked;
}

}  // namespace

std::string init_command(const Common& common) {
  const StoreChoice& choice = common.setup->store;
  const std::string& store = choice.name.empty() ? choice.url : choice.name;
  return printable(store_command(has_secret(store) ? "URL" : store, "init"));
}

Result<bool> is_unused(const std::shared_ptr<Store>& store, Millis within) {
  const Instant until = clamped_add(BootClock::now(), within);
  auto missing = store->admin()->plan(until);
  // Who would make tables is refused for the sake of those of jobs too.
  const bool refused = !missing && missing.error().code == Errc::refused;
  if (!missing && (!refused || is_file(*store))) return std::move(missing).error();
  if (!refused && missing->empty()) return false;
  // A file that nobody has used yet would be made by whoever connects.
  if (is_file(*store)) return true;
  // What jobs need is not missed here: a server where leases can be kept has all that one can look at.
  const auto connection = store->connect(until);
  if (connection) return false;
  if (connection.error().code == Errc::unprepared) return true;
  return connection.error();
}

Result<Looked> look_quietly(const Common& common, Millis within) {
  auto store = try_store(common.store);
  if (!store) return std::move(store).error();
  return look_at(*store, common, within);
}

Result<Looked> look_at_store(const Common& common, Millis within) {
  auto looked = look_quietly(common, within);
  if (looked && looked->unused) complain(not_there(*looked->store, common));
  return looked;
}

Instant soon() { return clamped_add(BootClock::now(), std::chrono::seconds(5)); }

Result<std::unique_ptr<JobEngine>> jobs_of(const Looked& looked) {
  if (looked.unused) return std::unique_ptr<JobEngine>();
  return looked.store->jobs(soon());
}

Result<Client> open_used_store(const Common& common) {
  auto store = try_store(common.store);
  if (!store) return std::move(store).error();
  auto looked = look_at(*store, common);
  if (!looked) return std::move(looked).error();
  if (looked->unused) return Error{Errc::lost, not_there(**store, common)};
  return Client::try_make(*std::move(store));
}

}  // namespace holdfast::cli
