// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/listener.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "holdfast/result.h"
#include "stores/sqlite/fault.h"
#include "stores/sqlite/path.h"

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
  const bool broke = ::write(fd, "!", 1) < 0 && errno == EPIPE;  // full: there is a byte already
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

Presence::OpenedFifo Presence::open_fifo(std::string_view client) const {
  if (!is_client(client))
    return {Life::unknown, {}};  // a name from the file may be anything; never make a path of it
  Fd fifo(::open(fifo_of(client).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  // What opens and is no FIFO was put there by somebody; never write to it.
  if (fifo && !is_fifo(fifo.get())) return {Life::unknown, {}};
  if (fifo) return {Life::alive, std::move(fifo)};
  return {errno == ENXIO ? Life::dead : Life::unknown, {}};
}

Life Presence::notify(std::string_view client) const {
  if (client == client_) {
    write_byte_quietly(fifo_.get());
    return Life::alive;
  }
  const OpenedFifo other = open_fifo(client);
  if (other.life == Life::alive) write_byte_quietly(other.fd.get());
  return other.life;
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

// -- waiting

void Waits::open() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event own{.events = EPOLLIN, .data = {.fd = presence_.fd()}};
  if (!epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, presence_.fd(), &own) != 0) {
    throw_failure(system_error("cannot watch the FIFO of this client in " + presence_.folder(), errno));
  }
  epoll_ = std::move(epoll);
}

void Waits::await(std::string_view key, std::string_view before) {
  const std::lock_guard lock(mutex_);
  const auto known = keys_.find(key);
  if (known != keys_.end() && known->second == before && (before.empty() || lines_.contains(before))) return;
  settle_locked(key);
  keys_.emplace(key, before);
  count_ = keys_.size();
  if (before.empty() || before == presence_.client()) return;  // our own process notifies, or time does

  auto line = lines_.find(before);
  if (line == lines_.end()) {
    Presence::OpenedFifo other = presence_.open_fifo(before);
    // It died between the store's look and ours: nobody else will tell.
    if (other.life == Life::dead) presence_.notify(presence_.client());
    if (other.life != Life::alive) return;
    epoll_event error_only{.events = 0, .data = {.fd = other.fd.get()}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, other.fd.get(), &error_only) != 0) return;
    line = lines_.emplace(before, Line{std::move(other.fd)}).first;
  }
  ++line->second.keys;
}

void Waits::settle(std::string_view key) {
  if (count_ == 0) return;
  const std::lock_guard lock(mutex_);
  settle_locked(key);
}

void Waits::settle_locked(std::string_view key) {
  const auto known = keys_.find(key);
  if (known == keys_.end()) return;
  const auto line = lines_.find(known->second);
  if (line != lines_.end() && --line->second.keys == 0) drop_line(line);
  keys_.erase(known);
  count_ = keys_.size();
}

bool Waits::waiting(std::string_view key) const {
  if (count_ == 0) return false;
  const std::lock_guard lock(mutex_);
  return keys_.contains(key);
}

void Waits::drop_line(std::map<std::string, Line, std::less<>>::iterator line) {
  // Closing is not enough: a forked child may have a copy, and epoll would go on reporting it.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, line->second.fd.get(), nullptr);
  lines_.erase(line);
}

void Waits::drain() {
  const std::lock_guard lock(mutex_);
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == presence_.fd()) {
      std::array<char, 512> bytes;
      while (::read(fd, bytes.data(), bytes.size()) > 0) {
      }
      continue;
    }
    // Told once; the store is asked next, and finds out the same.
    const auto dead =
        std::find_if(lines_.begin(), lines_.end(), [&](const auto& l) { return l.second.fd.get() == fd; });
    if (dead != lines_.end()) drop_line(dead);
  }
}

}  // namespace holdfast::sqlite
