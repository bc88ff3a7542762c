// SPDX-License-Identifier: Apache-2.0
// surroundings.h - what else in this process, and on this machine, could spoil a file of leases.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace holdfast::sqlite {

// Libraries named after SQLite in /proc/PID/maps, but for `ours`, each once.  Two copies of SQLite in one
// process do not know of each other's files: when one closes a file, the kernel drops the other's locks on
// it.
std::vector<std::string> other_sqlites(std::istream& maps, const std::string& ours);
// The same of this process.
std::vector<std::string> other_sqlites();

// Processes, for people ("pid 123"), that have a file open which once had that path and is deleted: they and
// whoever opens the path now do not see each other.  Those that we may look into and that see our mounts.
std::vector<std::string> users_of_a_deleted_file(const std::string& path);

}  // namespace holdfast::sqlite
