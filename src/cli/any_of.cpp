// SPDX-License-Identifier: Apache-2.0
#include "cli/any_of.h"

#include <sys/epoll.h>

#include <cerrno>
#include <system_error>

namespace holdfast::cli {

AnyOf::AnyOf(std::initializer_list<int> fds) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  for (const int fd : fds) add(fd);
}

void AnyOf::add(int fd) {
  epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &readable) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
}

void AnyOf::drop(int fd) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace holdfast::cli
