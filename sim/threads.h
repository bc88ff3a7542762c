// SPDX-License-Identifier: Apache-2.0
// threads.h - the threads of simulated processes.  Each has a stack of its own; one runs at a time, until it
// waits.  So the library, with its mutexes, conditions and sleeps, runs here as it is.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/clocks.h"
#include "sim/timeline.h"

namespace holdfast::sim {

class Threads;

// What a thread knows of its process.
struct Home {
  Timeline::Owner process;
  const DriftingClock* clock;
};

class Thread {
 public:
  bool ended() const noexcept { return ended_; }

 private:
  friend class Threads;
  Home home_{};
  std::function<void()> work_;
  ucontext_t context_{};
  std::byte* stack_ = nullptr;
  void* exceptions_[2] = {};  // of the language's runtime, which has one such list for each real thread
  std::uint64_t wait_ = 0;    // the number of its current wait
  bool waits_ = false, woken_ = false, ended_ = false;
  std::vector<std::shared_ptr<Thread>> joining_;
};

// A file descriptor, as far as a Wakeup can wait for one.
class Descriptor {
 public:
  Descriptor();
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const noexcept { return number_; }
  void set_readable(bool readable);
  bool readable() const noexcept { return readable_; }
  std::shared_ptr<Thread> asleep;  // who waits for it

 private:
  const int number_;
  bool readable_ = false;
};

// All threads of a world.  While one exists, the clock and the random numbers of the library are its own.
class Threads {
 public:
  Threads(Timeline& timeline, std::function<std::uint64_t()> random, std::function<Moment()> wall);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // REQUIRES: one exists.
  static Threads& here();
  static Threads* exists() noexcept;

  // It begins when the events of this moment have happened.
  std::shared_ptr<Thread> start(Home home, std::function<void()> work);
  // Null: the world itself.
  const std::shared_ptr<Thread>& current() const noexcept { return current_; }
  // REQUIRES: a thread runs.
  const Home& home() const { return current_->home_; }

  // The current thread waits until somebody wakes it, or until its clock shows `until`.  True: woken.
  bool wait(Instant until);
  // It goes on when the events of this moment have happened.  If it does not wait, nothing happens.
  void wake(const std::shared_ptr<Thread>& thread);
  void join(const std::shared_ptr<Thread>& thread, Instant until);

  // Runs `look` as if it were code of that process, which must not wait.
  template <class Look>
  auto as(const Home& home, const Look& look) {
    const Home* const before = std::exchange(looking_, &home);
    struct Restore {
      ~Restore() { to = from; }
      const Home*& to;
      const Home* from;
    } const restore{looking_, before};
    return look();
  }

  Instant now() const;
  std::uint64_t random() { return random_(); }
  Moment wall() const { return wall_(); }
  // The threads of that process that have not ended.
  std::size_t alive(Timeline::Owner process) const {
    const auto found = alive_.find(process);
    return found == alive_.end() ? 0 : found->second;
  }
  bool any_alive() const noexcept { return !alive_.empty(); }

 private:
  friend class Descriptor;
  friend Descriptor* descriptor(int number);
  static void begin();
  void run(const std::shared_ptr<Thread>& thread);
  void swap(ucontext_t& from, ucontext_t& to, Thread& thread, bool into);
  std::byte* take_stack();

  Timeline& timeline_;
  const std::function<std::uint64_t()> random_;
  const std::function<Moment()> wall_;
  std::shared_ptr<Thread> current_;
  const Home* looking_ = nullptr;
  ucontext_t world_{};
  std::map<Timeline::Owner, std::size_t> alive_;
  std::map<int, Descriptor*> descriptors_;
  int last_descriptor_ = 0;
};

}  // namespace holdfast::sim
