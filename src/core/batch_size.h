// SPDX-License-Identifier: Apache-2.0
// batch_size.h - how many requests to send in one call, by what the store has managed so far.
#pragma once
#include <algorithm>
#include <cstddef>

#include "holdfast/clock.h"

namespace holdfast::core {

// Such that a call takes between an eighth and a quarter of the time it is given: a store that slows down
// then still answers in time, and nobody waits long for the next call.
class BatchSize {
 public:
  explicit BatchSize(std::size_t first = 256) noexcept : size_(first) {}

  std::size_t now() const noexcept { return size_; }

  // A call with so many requests was given `limit`, and was answered.
  void answered(std::size_t requests, Millis limit, std::chrono::nanoseconds took) noexcept {
    if (took > limit / 4)
      size_ = std::min(size_, std::max(requests / 2, least));
    else if (took < limit / 8 && requests >= size_)
      size_ = std::min(size_ * 2, most);
  }

  // It was not answered in time, or not at all: with fewer, what makes it fail may be found among them.  One
  // that fails alone says nothing about the others.
  void failed(std::size_t requests) noexcept {
    if (requests > 1) size_ = std::max(std::min(size_, requests) / 2, std::size_t{1});
  }

 private:
  // The way to the store takes the same time for fewer than that, so they are split only if a call fails.
  static constexpr std::size_t least = 64;
  static constexpr std::size_t most = 65'536;

  std::size_t size_;
};

}  // namespace holdfast::core
