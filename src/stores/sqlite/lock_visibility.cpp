// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/lock_visibility.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace holdfast::sqlite {
namespace {

constexpr std::size_t page_size = 4096;
constexpr off_t where_sqlite_locks = 120;  // in the -shm file

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free, "two processes share one");
constexpr std::uint32_t ours_wrote = 0x6f757273, theirs_wrote = 0x74686579;

struct Unmap {
  void operator()(void* page) const noexcept { ::munmap(page, page_size); }
};
using MappedPage = std::unique_ptr<void, Unmap>;

void* map_page(int flags, int fd) {
  void* const page = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, flags, fd, 0);
  return page == MAP_FAILED ? nullptr : page;
}

// Written, not only stretched: a page that has no room on the disk would end whoever touches its map.
bool has_page(int fd) {
  constexpr char zeros[page_size] = {};
  return ::pwrite(fd, zeros, page_size, 0) == page_size;
}

// 0, or why not.
int lock(int fd) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = where_sqlite_locks;
  range.l_len = 1;
  return ::fcntl(fd, F_SETLK, &range) == 0 ? 0 : errno;
}

struct Answer {
  std::atomic<bool> complete = false;
  LockVisibility lock_visibility;
};

// The child of a process that may have threads: nothing here allocates, throws or takes a mutex.
[[noreturn]] void answer_as_other_process(const char* path, Answer& answer) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  void* const page = map_page(MAP_SHARED, fd);
  if (fd < 0 || page == nullptr) ::_exit(1);
  const int refusal = lock(fd);
  answer.lock_visibility.locks = refusal == EAGAIN || refusal == EACCES;
  if (!answer.lock_visibility.locks) answer.lock_visibility.error = refusal;
  answer.lock_visibility.memory = static_cast<Word*>(page)->exchange(theirs_wrote) == ours_wrote;
  answer.complete = true;
  ::_exit(0);
}

void await_end(pid_t child) {
  // It may be gone already: a program that ignores SIGCHLD, or awaits whoever ends, has no child left for us.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::optional<LockVisibility> lock_visibility_between(int ours, int theirs) {
  // A descriptor opened through /proc is one of its own, as if by the file's name.
  const std::string path = "/proc/self/fd/" + std::to_string(theirs);
  if (!has_page(ours) || !has_page(theirs)) return std::nullopt;
  const MappedPage told(map_page(MAP_SHARED | MAP_ANONYMOUS, -1));
  if (!told) return std::nullopt;
  Answer& answer = *new (told.get()) Answer;
  const MappedPage page(map_page(MAP_SHARED, ours));
  if (!page && errno == ENOMEM) return std::nullopt;
  if (!page) return LockVisibility{.error = errno};
  Word& word = *new (page.get()) Word(ours_wrote);
  if (const int refusal = lock(ours); refusal != 0) return LockVisibility{.error = refusal};
  // Not fork(): what others do around it is not for a child that only looks.
  const pid_t child = ::_Fork();
  if (child < 0) return std::nullopt;
  if (child == 0) answer_as_other_process(path.c_str(), answer);
  await_end(child);
  if (!answer.complete) return std::nullopt;
  LockVisibility lock_visibility = answer.lock_visibility;
  lock_visibility.memory = lock_visibility.memory && word == theirs_wrote;
  return lock_visibility;
}

std::optional<LockVisibility> lock_visibility_in(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {  // not every file system knows files without a name
    std::string name = folder + "/.holdfast-XXXXXX";
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
  }
  if (!file) return std::nullopt;
  return lock_visibility_between(file.get(), file.get());
}

}  // namespace holdfast::sqlite
