// SPDX-License-Identifier: Apache-2.0
// redis_py.h - redis-py's Lock in a process of its own, beside which ours is measured.
#pragma once
#include <cstdio>
#include <string>

#include "base/fd.h"

namespace holdfast::bench {

class RedisPy {
 public:
  explicit RedisPy(int port);
  ~RedisPy();
  RedisPy(const RedisPy&) = delete;
  RedisPy& operator=(const RedisPy&) = delete;

  // Empty, or why it cannot be measured here.
  const std::string& missing() const noexcept { return missing_; }
  std::string version() const { return version_; }
  double rate(double seconds);

 private:
  std::string answer();

  pid_t pid_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
  std::string missing_, version_;
};

}  // namespace holdfast::bench
