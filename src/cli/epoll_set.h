// SPDX-License-Identifier: Apache-2.0
// epoll_set.h - several descriptors as one, for epoll(7) and poll(2).
#pragma once
#include <initializer_list>

#include "base/fd.h"
#include "base/wakeup.h"

namespace holdfast::cli {

// Its own descriptor is readable while one of its members is, so a Wakeup can wait for all of them.  After a
// wakeup the caller reads all members; none of them may block.
class EpollSet {
 public:
  EpollSet(std::initializer_list<int> fds);  // throws std::system_error

  int fd() const noexcept { return epoll_.get(); }

  void add(int fd);  // throws std::system_error
  // For a descriptor that is only written to: wakes when the other end is closed, not when data arrives.
  void add_hang_up_of(int fd);  // throws std::system_error
  // For a member that stays readable forever, such as a closed socket.
  void drop(int fd) noexcept;

 private:
  Fd epoll_;
};

}  // namespace holdfast::cli
