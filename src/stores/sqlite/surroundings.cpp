// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/surroundings.h"

#include <dlfcn.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

// Where the SQLite that we call is: a shared library, or the program itself.
std::string our_sqlite() {
  Dl_info found{};
  // A pointer to a function is asked for as one to anything: dladdr(3) has no other way.
  if (::dladdr(reinterpret_cast<const void*>(&sqlite3_libversion), &found) == 0) return {};
  std::error_code unknown;
  return fs::weakly_canonical(found.dli_fname, unknown).string();
}

bool is_process(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::string link_of(const fs::path& path) {
  std::error_code unreadable;
  return fs::read_symlink(path, unreadable).string();
}

bool has_open(const fs::path& process, const std::string& file) {
  std::error_code unreadable;
  for (fs::directory_iterator at(process / "fd", unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    if (link_of(at->path()) == file) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> other_sqlites(std::istream& maps, const std::string& ours) {
  std::vector<std::string> others;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::string path = line.substr(at), name = path.substr(path.rfind('/') + 1);
    const bool library = name.starts_with("libsqlite3") && name.find(".so") != std::string::npos;
    if (library && path != ours && std::find(others.begin(), others.end(), path) == others.end())
      others.push_back(path);
  }
  return others;
}

std::vector<std::string> other_sqlites() {
  std::ifstream maps("/proc/self/maps");
  return other_sqlites(maps, our_sqlite());
}

std::vector<std::string> users_of_a_deleted_file(const std::string& path) {
  std::vector<std::string> users;
  const std::string mounts = link_of("/proc/self/ns/mnt");
  std::error_code unreadable;
  for (fs::directory_iterator at("/proc", unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    const fs::path& process = at->path();
    if (!is_process(process.filename().string()) || link_of(process / "ns/mnt") != mounts) continue;
    if (has_open(process, path + " (deleted)")) users.push_back("pid " + process.filename().string());
  }
  return users;
}

}  // namespace holdfast::sqlite
