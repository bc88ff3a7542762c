// SPDX-License-Identifier: Apache-2.0
// any_of.h - several descriptors as one.
#pragma once
#include <initializer_list>

#include "base/fd.h"

namespace holdfast::cli {

// Readable while one of its descriptors is: what a Wakeup can wait for besides its moment.  Whoever is
// woken looks at all of them; none may block.
class AnyOf {
 public:
  AnyOf(std::initializer_list<int> fds);  // throws std::system_error

  int fd() const noexcept { return epoll_.get(); }

  void add(int fd);  // throws std::system_error
  // Of one that is written to: not what comes from there, only that nobody is there any more.
  void add_end_of(int fd);  // throws std::system_error
  // For one that stays readable for ever, once that is known.
  void drop(int fd) noexcept;

 private:
  Fd epoll_;
};

}  // namespace holdfast::cli
