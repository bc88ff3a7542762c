// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::sqlite {
namespace {

// Where SQLite keeps the two locks (os_unix.c, sqlite.org/fileformat2.html#the_lock_byte_page).
constexpr off_t shm_in_use = 128;
constexpr off_t file_in_use = 0x40000002;
constexpr off_t file_in_use_length = 510;

// Another thread that is just opening the file has the descriptor a moment before the lock.
constexpr int patience_ms = 20;

std::vector<int> descriptors_of(const std::string& path) {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  std::array<char, PATH_MAX> target;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const ssize_t length = ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
    if (length > 0 && path == std::string_view(target.data(), static_cast<std::size_t>(length)))
      found.push_back(std::atoi(entry->d_name));
  }
  return found;
}

// The kernel lists the locks of a descriptor to those who own them.
bool has_lock(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("lock:")) return true;
  }
  return false;
}

bool has_lock_soon(int fd) {
  for (int waited = 0; !has_lock(fd); ++waited) {
    if (waited == patience_ms) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

void share(int fd, off_t start, off_t length) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  ::fcntl(fd, F_SETLK, &lock);
}

}  // namespace

void own_inherited_locks(const std::string& path) {
  const std::vector<int> shm = descriptors_of(path + "-shm");
  if (shm.empty() || has_lock_soon(shm.front())) return;
  share(shm.front(), shm_in_use, 1);
  const std::vector<int> file = descriptors_of(path);
  if (!file.empty()) share(file.front(), file_in_use, file_in_use_length);
}

}  // namespace holdfast::sqlite
