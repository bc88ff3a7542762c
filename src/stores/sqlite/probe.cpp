// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "base/fd.h"
#include "base/time.h"
#include "stores/sqlite/fault.h"

namespace holdfast::sqlite {
namespace {

// -- file systems

struct FileSystem {
  std::uint32_t kind;
  const char* name;
};
// linux/magic.h, and the manuals of those that are not in the kernel.  Several machines see the same file in
// most of them.  FUSE may be anything, virtiofs and sshfs included.
constexpr FileSystem unsafe_kinds[] = {
    {0x00006969, "NFS"},   {0x0000517B, "SMB"},    {0xFF534D42, "SMB"},    {0xFE534D42, "SMB"},
    {0x0000564C, "NCP"},   {0x73757245, "Coda"},   {0x5346414F, "AFS"},    {0x6B414653, "AFS"},
    {0x01021997, "9p"},    {0x65735546, "FUSE"},   {0x00C36400, "Ceph"},   {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},  {0x01161970, "GFS2"},   {0x7461636F, "OCFS2"},  {0x19830326, "BeeGFS"},
    {0xAAD7AAEA, "PanFS"}, {0x786F4256, "vboxsf"}, {0xBACBACBC, "vmhgfs"},
};

constexpr FileSystem passing_kinds[] = {
    {0x01021994, "tmpfs"}, {0x858458F6, "ramfs"}, {0x794C7630, "overlayfs"}, {0x61756673, "aufs"}};

const char* name_in(std::span<const FileSystem> table, std::uint32_t kind) {
  for (const FileSystem& system : table) {
    if (system.kind == kind) return system.name;
  }
  return nullptr;
}

// -- locks and shared memory

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
int lock_byte(int fd) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = where_sqlite_locks;
  range.l_len = 1;
  return ::fcntl(fd, F_SETLK, &range) == 0 ? 0 : errno;
}

struct Answer {
  std::atomic<bool> complete = false;
  LockVisibility seen;
};

// The child of a process that may have threads: nothing here allocates, throws or takes a mutex.
[[noreturn]] void answer_as_other_process(const char* path, Answer& answer) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  void* const page = map_page(MAP_SHARED, fd);
  if (fd < 0 || page == nullptr) ::_exit(1);
  const int refusal = lock_byte(fd);
  answer.seen.locks = refusal == EAGAIN || refusal == EACCES;
  if (!answer.seen.locks) answer.seen.error = refusal;
  answer.seen.memory = static_cast<Word*>(page)->exchange(theirs_wrote) == ours_wrote;
  answer.complete = true;
  ::_exit(0);
}

void await_end(pid_t child) {
  // It may be gone already: a program that ignores SIGCHLD, or awaits whoever ends, has no child left for us.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// -- other users of SQLite

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

std::uint32_t file_system_of(const std::string& path) {
  struct statfs found {};
  return ::statfs(path.c_str(), &found) == 0 ? static_cast<std::uint32_t>(found.f_type) : 0;
}

const char* unsafe_file_system(std::uint32_t kind) noexcept { return name_in(unsafe_kinds, kind); }

const char* passing_file_system(std::uint32_t kind) noexcept { return name_in(passing_kinds, kind); }

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
  if (const int refusal = lock_byte(ours); refusal != 0) return LockVisibility{.error = refusal};
  // Not fork(): what others do around it is not for a child that only looks.
  const pid_t child = ::_Fork();
  if (child < 0) return std::nullopt;
  if (child == 0) answer_as_other_process(path.c_str(), answer);
  await_end(child);
  if (!answer.complete) return std::nullopt;
  LockVisibility seen = answer.seen;
  seen.memory = seen.memory && word == theirs_wrote;
  return seen;
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

Result<Machine> this_machine() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  Machine machine{.boottime = [] { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); },
                  .walltime = [] { return wall_now().time_since_epoch(); }};
  errno = 0;
  if (!(std::ifstream(path) >> machine.boot_id)) {
    Error error = system_error(std::string("cannot read ") + path, errno != 0 ? errno : ENOENT);
    if (error.code == Errc::refused) error.detail += "; Holdfast needs it to notice a reboot: mount /proc";
    return error;
  }
  // A kernel without time namespaces has no such file, and one clock for all.
  struct stat ns {};
  if (::stat("/proc/self/ns/time", &ns) == 0) machine.time_namespace = ns.st_ino;
  return machine;
}

}  // namespace holdfast::sqlite
