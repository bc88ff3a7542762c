// SPDX-License-Identifier: Apache-2.0
// fd.h - file descriptors: one owner for each, and waiting on them until a moment of the boot clock.
#pragma once
#include <unistd.h>

#include <utility>

#include "holdfast/clock.h"

namespace holdfast {

// Owns a file descriptor and closes it.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Waits until one of `events` (POLLIN, POLLOUT) or an error occurs on `fd`, but no longer than `until`.
// Returns false on timeout.  Polls at least once, also if `until` has passed.
bool await(int fd, short events, Instant until) noexcept;

}  // namespace holdfast
