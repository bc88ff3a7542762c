// SPDX-License-Identifier: Apache-2.0
#include "cli/epoll_set.h"

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace holdfast::cli {
namespace {

void add_to(int epoll, int fd, std::uint32_t events) {
  epoll_event wanted{.events = events, .data = {.fd = fd}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
}

}  // namespace

EpollSet::EpollSet(std::initializer_list<int> fds) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  for (const int fd : fds) add(fd);
}

void EpollSet::add(int fd) { add_to(epoll_.get(), fd, EPOLLIN); }

// epoll reports EPOLLERR and EPOLLHUP always.
void EpollSet::add_hang_up_of(int fd) { add_to(epoll_.get(), fd, 0); }

void EpollSet::drop(int fd) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace holdfast::cli
