// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/listener.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "stores/sqlite/fault.h"

namespace holdfast::sqlite {

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
  if (before.empty() || before == presence_.client()) return;  // our own process rings, or time does

  auto line = lines_.find(before);
  if (line == lines_.end()) {
    Presence::Reached reached = presence_.lock_visibility(before);
    // It died between the store's look and ours: nobody else will tell.
    if (reached.life == Life::dead) presence_.ring(presence_.client());
    if (reached.life != Life::alive) return;
    epoll_event error_only{.events = 0, .data = {.fd = reached.line.get()}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, reached.line.get(), &error_only) != 0) return;
    line = lines_.emplace(before, Line{std::move(reached.line)}).first;
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
