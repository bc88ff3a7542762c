// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/presence.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "holdfast/result.h"
#include "stores/sqlite/fault.h"
#include "stores/sqlite/ownership.h"

namespace holdfast::sqlite {
namespace {

constexpr std::size_t client_digits = 16;

bool is_client(std::string_view text) {
  return text.size() == client_digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// A FIFO whose last reader has just gone raises SIGPIPE, and that signal is not ours to handle.
void write_byte_quietly(int fd) {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const bool broke = ::write(fd, "!", 1) < 0 && errno == EPIPE;  // full: it rings already
  if (broke && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    sigtimedwait(&pipe, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

[[noreturn]] void cannot_make(const std::string& what, int error) {
  // Somebody tidied up between two steps of ours: the next attempt makes it again.
  if (error == ENOENT)
    throw_failure({Errc::unavailable, "cannot create " + what + ": its folder has just been removed"});
  throw_failure(system_error("cannot create " + what, error));
}

// Open.  One that is not empty is not ours: it has been put in its place.
Fd new_folder(const std::string& name) {
  if (::mkdir(name.c_str(), 0700) != 0) return Fd();
  Fd folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const int copy = folder ? ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0) : -1;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (!entries) return Fd();
  std::size_t count = 0;
  while (::readdir(entries.get()) != nullptr) ++count;
  if (count <= 2) return folder;  // . and ..
  errno = EACCES;
  return Fd();
}

bool is_fifo(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode);
}

}  // namespace

std::string_view client_named_in(std::string_view owner) noexcept {
  constexpr std::string_view word = "guid:";
  constexpr std::size_t length = word.size() + 32;
  if (owner.size() < length) return {};
  const std::string_view end = owner.substr(owner.size() - length);
  const std::string_view client = end.substr(word.size(), client_digits);
  return end.starts_with(word) && is_client(client) ? client : std::string_view{};
}

Presence::Presence(std::string_view database, std::string_view table, std::string client)
    : folder_(std::string(database) + ".d"), prefix_(std::string(table) + "."), client_(std::move(client)) {}

Presence::~Presence() {
  if (appeared() && held_ <= 0) ::unlink(fifo_of(client_).c_str());
}

void Presence::appear() {
  const bool shared = is_shared(std::filesystem::path(folder_).parent_path().string());
  const int failed = shared                                ? make_shared_as(folder_, 02770, new_folder)
                     : ::mkdir(folder_.c_str(), 0700) == 0 ? 0
                                                           : errno;
  if (failed != 0 && failed != EEXIST) cannot_make(folder_, failed);
  check_client_folder(folder_);
  // Under its final name it has a reader from the first moment on: ENXIO never means "not yet".
  const std::string name = fifo_of(client_);
  const std::string making = folder_ + "/new." + client_;
  if (::mkfifo(making.c_str(), 0600) != 0) cannot_make(making, errno);
  fifo_.reset(::open(making.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (fifo_) errno = EEXIST;  // of one that is no FIFO: somebody has put it there
  const bool made = fifo_ && is_fifo(fifo_.get()) && (!shared || ::fchmod(fifo_.get(), 0660) == 0) &&
                    ::rename(making.c_str(), name.c_str()) == 0;
  if (made) return;
  const int error = errno;
  ::unlink(making.c_str());
  fifo_.reset();
  cannot_make(name, error);
}

int Presence::proof_of_life() const noexcept {
  if (!appeared()) return -1;
  return ::open(("/proc/self/fd/" + std::to_string(fifo_.get())).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

std::string Presence::fifo_of(std::string_view client) const {
  std::string path = folder_;
  path += '/';
  path += prefix_;
  path += client;
  return path;
}

Presence::Reached Presence::lock_visibility(std::string_view client) const {
  if (!is_client(client))
    return {Life::unknown, {}};  // a name from the file may be anything; never make a path of it
  Fd line(::open(fifo_of(client).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  // What opens and is no FIFO was put there by somebody; never write to it.
  if (line && !is_fifo(line.get())) return {Life::unknown, {}};
  if (line) return {Life::alive, std::move(line)};
  return {errno == ENXIO ? Life::dead : Life::unknown, {}};
}

Life Presence::ring(std::string_view client) const {
  if (client == client_) {
    write_byte_quietly(fifo_.get());
    return Life::alive;
  }
  const Reached reached = lock_visibility(client);
  if (reached.life == Life::alive) write_byte_quietly(reached.line.get());
  return reached.life;
}

std::vector<std::string> Presence::everyone() const {
  std::vector<std::string> clients;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), ::closedir);
  if (!folder) return clients;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix_) && is_client(name.substr(prefix_.size())))
      clients.emplace_back(name.substr(prefix_.size()));
  }
  return clients;
}

std::vector<std::string> Presence::some_dead(std::size_t most, std::uint64_t random) const {
  std::vector<std::string> clients = everyone();
  if (clients.empty()) return clients;
  std::rotate(clients.begin(), clients.begin() + static_cast<std::ptrdiff_t>(random % clients.size()),
              clients.end());
  clients.resize(std::min(clients.size(), most));
  std::erase_if(clients, [&](const std::string& client) { return probe(client) != Life::dead; });
  return clients;
}

void Presence::forget(std::string_view client) const {
  if (is_client(client)) ::unlink(fifo_of(client).c_str());
}

void Presence::forget_all() const {
  for (const std::string& client : everyone()) forget(client);
}

}  // namespace holdfast::sqlite
