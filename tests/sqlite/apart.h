// SPDX-License-Identifier: Apache-2.0
// apart.h - a part of a test in a process of its own: the rights, limits and mounts it changes end with it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {

// What `body` returns, run in a forked child, which then dies without tidying up, as if killed.
std::string apart(const std::function<std::string()>& body);

// -- for the body

// REQUIRES: we are root.
void become(uid_t user, const std::vector<gid_t>& groups = {});
// Somebody to whom permissions apply: ourselves, or nobody if we are root.
void become_ordinary();

// From now on mounts are seen by this process only.  False: the system does not let us.
bool keep_mounts_to_ourselves();
// Mounts a file system in memory there, or changes the one that is mounted: "size=64k".
void mount_memory(const std::string& folder, const std::string& options);
void change_memory(const std::string& folder, const std::string& options);
void mount_read_only(const std::string& folder);

// At most so many descriptors from now on.
void limit_descriptors(unsigned long most);

}  // namespace holdfast::test
