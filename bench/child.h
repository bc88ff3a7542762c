// SPDX-License-Identifier: Apache-2.0
// child.h - processes that measure together, and the memory in which they say what they found.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "holdfast/clock.h"

namespace holdfast::bench {

void* map_shared(std::size_t size);  // throws if it cannot be had
void unmap_shared(void* memory, std::size_t size) noexcept;

// A T that forked children see too.
template <class T>
class Shared {
 public:
  Shared() : value_(new (map_shared(sizeof(T))) T) {}
  ~Shared() {
    value_->~T();
    unmap_shared(value_, sizeof(T));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* operator->() const noexcept { return value_; }
  T& operator*() const noexcept { return *value_; }

 private:
  T* const value_;
};

// A process that does `work` and ends.  REQUIRES: nothing is open that it must not share, no thread runs.
class Child {
 public:
  explicit Child(const std::function<void()>& work);
  ~Child();  // kills it, if it still runs
  Child(Child&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  Child& operator=(Child&&) = delete;

  void kill() noexcept;  // SIGKILL
  void join();           // throws if it did not end well

 private:
  pid_t pid_;
};

// All get ready, then all begin, and all end by the same clock.
struct Race {
  static constexpr std::size_t most = 128;
  std::atomic<int> ready = 0;
  std::atomic<Instant::rep> end = 0;  // set when they may begin
  std::atomic<long> counts[most] = {};

  // A runner's: returns when the race has begun.
  void line_up();
  bool running() const;
};

struct Raced {
  double per_second;        // of all together
  double least_per_second;  // of the one that came last
};
// Starts `runners` processes; each prepares, lines up, and counts in counts[its number] while running().
Raced race_processes(int runners, double seconds, const std::function<void(Race&, int)>& runner);

}  // namespace holdfast::bench
