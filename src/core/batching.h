// SPDX-License-Identifier: Apache-2.0
// batching.h - how many requests go into one call, and how a batch is split into statements.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

// The number of requests to send in one call, by how fast the store answered so far.  A call shall take
// between an eighth and a quarter of its time limit: then a store that slows down still answers in time, and
// nobody waits long for the next call.
class BatchSize {
 public:
  explicit BatchSize(std::size_t first = 256) noexcept : size_(first) {}

  std::size_t now() const noexcept { return size_; }

  // A call with `requests` requests and the time limit `limit` was answered.
  void answered(std::size_t requests, Millis limit, std::chrono::nanoseconds took) noexcept {
    if (took > limit / 4)
      size_ = std::min(size_, std::max(requests / 2, least));
    else if (took < limit / 8 && requests >= size_)
      size_ = std::min(size_ * 2, most);
  }

  // A call was not answered in time, or not at all.  Smaller batches may separate the request that makes it
  // fail from the others.  A request that fails alone says nothing about the others.
  void failed(std::size_t requests) noexcept {
    if (requests > 1) size_ = std::max(std::min(size_, requests) / 2, std::size_t{1});
  }

 private:
  // A smaller batch takes as long, because of the round trip; so a batch gets smaller than this only after a
  // failure.
  static constexpr std::size_t least = 64;
  static constexpr std::size_t most = 65'536;

  std::size_t size_;
};

// Sends a batch in as few calls as it can, where a call fails as a whole: all in one call, and what failed in
// halves, until the request that makes it fail is alone.  Then all that is left goes in one call again.
class Halving {
 public:
  // any_answered: the store has answered others just now.
  explicit Halving(std::size_t requests, bool any_answered = false) noexcept
      : end_(requests), any_answered_(any_answered) {}

  // The next call takes `size()` requests from `first()` on.  Zero: there is nothing more to send.
  std::size_t first() const noexcept { return first_; }
  std::size_t size() const noexcept {
    if (given_up_) return 0;
    if (failed_end_ > first_) return std::max((failed_end_ - first_) / 2, std::size_t{1});
    return std::min(end_ - first_, one_failed_ && !any_answered_ ? 1 : end_);
  }
  bool any_answered() const noexcept { return any_answered_; }

  void answered() noexcept {
    first_ += size();
    any_answered_ = true;
  }
  // A request that fails alone is left out.  If the first two that are alone fail, it is not they: the store
  // answers nobody.
  void failed() noexcept {
    const std::size_t sent = size();
    if (sent > 1) {
      failed_end_ = first_ + sent;
      return;
    }
    ++first_;
    failed_end_ = 0;
    given_up_ = !any_answered_ && std::exchange(one_failed_, true);
  }

 private:
  std::size_t first_ = 0, end_;
  std::size_t failed_end_ = 0;  // a call failed with all until there; not above first_: none is known
  bool any_answered_, one_failed_ = false, given_up_ = false;
};

// Indices into a batch.
using KeyBatch = std::vector<std::size_t>;

// Splits a batch into key batches, each of which contains a key at most once, because one statement can
// change a row only once.  Within a key batch the keys are in bytewise order: all clients lock rows in the
// same order, so no two wait for each other.  Requests for one key are in successive key batches, in the
// order given.
std::vector<KeyBatch> key_batches(std::span<const Request> requests);

}  // namespace holdfast::core
