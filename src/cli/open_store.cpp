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
  const StoreDescriptor* const known = descriptor_of(store.name());
  return known != nullptr && known->place == StorePlace::file;
}

std::string not_there(const Store& store, const Common& common) {
  return store.name() + (is_file(store) ? " does not exist: nobody has used this store yet"
                                        : " lacks some or all of the tables for leases; create them with `" +
                                              init_command(common) + "`");
}

Result<FoundStore> checked_store(const std::shared_ptr<Store>& store, const Common& common,
                                 Millis within = find_limit) {
  FoundStore found_store{store, Admin(store)};
  const auto unused = is_unused(store, within);
  if (!unused) return unused.error();
  found_store.unused = *unused;
  // A file that does not exist counts as an empty one.  A server must have the tables: otherwise, with a
  // mistyped name, every key would seem free.
  if (found_store.unused && !is_file(*store)) return Error{Errc::unprepared, not_there(*store, common)};
  return found_store;
}

}  // namespace

std::string init_command(const Common& common) {
  const StoreChoice& choice = common.setup->store;
  const std::string& store = choice.name.empty() ? choice.url : choice.name;
  return printable(store_command(has_secret(store) ? "URL" : store, "init"));
}

Result<bool> is_unused(const std::shared_ptr<Store>& store, Millis within) {
  const Instant until = clamped_add(BootClock::now(), within);
  // Nothing has to exist there, and plan() may look at every key.
  const StoreDescriptor* const known = descriptor_of(store->name());
  if (known != nullptr && known->tables == StoreTables::none) {
    const auto connection = store->connect(until);
    return connection ? Result<bool>(false) : connection.error();
  }
  auto missing = store->admin()->plan(until);
  // plan() is also refused if only the tables of jobs cannot be created.
  const bool refused = !missing && missing.error().code == Errc::refused;
  if (!missing && (!refused || is_file(*store))) return std::move(missing).error();
  if (!refused && missing->empty()) return false;
  // connect() would create the file.
  if (is_file(*store)) return true;
  // Tables of jobs may be missing: a server that can store leases is used.
  const auto connection = store->connect(until);
  if (connection) return false;
  if (connection.error().code == Errc::unprepared) return true;
  return connection.error();
}

Result<FoundStore> find_store_quietly(const Common& common, Millis within) {
  auto store = try_store(common.store);
  if (!store) return std::move(store).error();
  return checked_store(*store, common, within);
}

Result<FoundStore> find_store(const Common& common, Millis within) {
  auto found_store = find_store_quietly(common, within);
  if (found_store && found_store->unused) complain(not_there(*found_store->store, common));
  return found_store;
}

Instant soon() { return clamped_add(BootClock::now(), std::chrono::seconds(5)); }

Result<std::unique_ptr<JobEngine>> jobs_of(const FoundStore& found_store) {
  if (found_store.unused) return std::unique_ptr<JobEngine>();
  return found_store.store->jobs(soon());
}

Result<Client> open_used_store(const Common& common) {
  auto store = try_store(common.store);
  if (!store) return std::move(store).error();
  auto found_store = checked_store(*store, common);
  if (!found_store) return std::move(found_store).error();
  if (found_store->unused) return Error{Errc::lost, not_there(**store, common)};
  return Client::try_make(*std::move(store));
}

}  // namespace holdfast::cli
