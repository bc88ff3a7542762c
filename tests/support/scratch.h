// SPDX-License-Identifier: Apache-2.0
// scratch.h - a folder for one test.
#pragma once
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statfs.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace holdfast::test {

class Scratch {
 public:
  Scratch() : Scratch(std::filesystem::temp_directory_path()) {}
  explicit Scratch(const std::filesystem::path& parent) {
    std::string name = (parent / "holdfast-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where the data of a server goes: into memory if there is room.  Servers write each commit to disk before
// they answer, and on a busy disk that has taken seconds, longer than a client waits.
inline std::filesystem::path parent_of_server_folders() {
  constexpr auto room = 4LL << 30;
  struct statfs found {};
  const bool in_memory = ::statfs("/dev/shm", &found) == 0 && found.f_type == TMPFS_MAGIC &&
                         static_cast<long long>(found.f_bavail) * found.f_bsize >= room;
  return in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace holdfast::test
