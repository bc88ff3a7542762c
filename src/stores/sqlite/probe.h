// SPDX-License-Identifier: Apache-2.0
// probe.h - what is read about the machine: its clocks and its boot, the file system, its locks, who else
// uses SQLite there.  findings.h says what to think of it.
#pragma once
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::sqlite {

// -- whether what one process locks in a file holds for all who see it

// The kind of file system, by the number that statfs(2) gives; zero if it gives none.
std::uint32_t file_system_of(const std::string& path);

// Its name, if locks or shared memory may not reach every process there; null: they do, or it is unknown to
// us and taken for local.
const char* unsafe_file_system(std::uint32_t kind) noexcept;

// Whether a file there may be another one for every container, or gone when the machine starts again: its
// name, or null.
const char* passing_file_system(std::uint32_t kind) noexcept;

// Whether locks and shared memory reach another process, found by trying with one.
struct LockVisibility {
  bool locks = false;   // what one locks, the other cannot lock
  bool memory = false;  // what one writes into its map of the file, the other reads in its own
  int error = 0;        // files cannot be locked or mapped there at all, and why
};

// Between us and a child that opens its file anew.  Nothing: it could not be tried.
std::optional<LockVisibility> lock_visibility_between(int ours, int theirs);

// The same in a folder, with a file that is gone afterwards.
std::optional<LockVisibility> lock_visibility_in(const std::string& folder);

// -- what else in this process, and on this machine, could spoil a file of leases

// Libraries named after SQLite in /proc/PID/maps, but for `ours`, each once.  Two copies of SQLite in one
// process do not know of each other's files: when one closes a file, the kernel drops the other's locks on
// it.
std::vector<std::string> other_sqlites(std::istream& maps, const std::string& ours);
// The same of this process.
std::vector<std::string> other_sqlites();

// Processes, for people ("pid 123"), that have a file open which once had that path and is deleted: they and
// whoever opens the path now do not see each other.  Those that we may look into and that see our mounts.
std::vector<std::string> users_of_a_deleted_file(const std::string& path);

// -- the machine

// What the store asks the machine it runs on.  A value, so that a test can give another one: after a reboot,
// or with a wall clock that jumps.
struct Machine {
  std::string boot_id = {};               // new with each start of the kernel
  std::uint64_t time_namespace = 0;       // processes of another one read another CLOCK_BOOTTIME
  std::function<Micros()> boottime = {};  // decides what has run out
  std::function<Micros()> walltime = {};  // for people, and the clock part of tokens
  // Of a folder, as file_system_of() counts.
  std::function<std::uint32_t(const std::string&)> file_system = file_system_of;
  // In a folder, between two processes.
  std::function<std::optional<LockVisibility>(const std::string&)> lock_visibility = lock_visibility_in;
};

Result<Machine> this_machine();

}  // namespace holdfast::sqlite
