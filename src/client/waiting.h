// SPDX-License-Identifier: Apache-2.0
// waiting.h - the threads of this process that wait for keys, and the listener that wakes them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/worker.h"
#include "core/acquiring.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// One gate per key while somebody waits for it.  All waiters of a process for a key are one waiter at the
// store; among themselves they are served in order.  One thread listens to the client's listener and wakes
// whoever is first at a gate; it starts when somebody first has to sleep.
class Waiting {
 public:
  using MakeListener = std::function<std::unique_ptr<StoreListener>()>;
  explicit Waiting(MakeListener make_listener)
      : state_(std::make_shared<State>()), make_listener_(std::move(make_listener)) {}
  ~Waiting();

  class Waiter;
  struct Door {
    core::Gate<Waiter*> gate;
    Reply last{.verdict = Verdict::busy};
    bool queued = false;  // the store may keep a place for this client
  };

  // Somebody at a gate; leaves it when destroyed.
  class Waiter {
   public:
    Waiter(Waiting& waiting, std::string_view key);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    bool first() const;
    // The store may keep a place for this client from now on; a grant takes it away.
    void queueing();
    void granted();
    // Leaves the gate.  True: nobody of us waits any more, and the store may keep a place for us.
    bool leave();
    // Sleeps until then, or until a notification, wake() is called, or it becomes first.
    void sleep(Instant until);
    // Any thread: wakes it.
    void wake();
    // What the store said last, for those of this process who only ask.
    void heard(const Reply& reply);
    Reply last_heard() const;

   private:
    friend class Waiting;
    Waiting& waiting_;
    void ring();        // REQUIRES: the mutex is held
    void leave_gate();  // the same
    Door& door() const;

    const std::string key_;
    std::optional<Wakeup> wakeup_;  // made when it first sleeps: most never do
    bool rung_ = false;             // before that
    bool left_ = false;
  };

  // What the first at that gate heard last; nothing if nobody waits here.
  std::optional<Reply> queue_at(std::string_view key) const;

  // How many threads of this process wait for it.
  std::size_t waiters(std::string_view key) const;

  // Answers whether somebody of this process waits for a key, also after this object has gone.  Then the
  // place that the store may keep for us is theirs.
  std::function<bool(std::string_view key)> heir() const;

  // Subscribes, if the store can notify and there is a thread to be had; else the waiters poll.  Call after a
  // place was kept and before the check that follows.
  void listen();

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, Door, std::less<>> doors;
    Wakeup wakeup;
    bool closed = false;
  };
  static void ring(State& state, StoreListener& listener);

  const std::shared_ptr<State> state_;
  const MakeListener make_listener_;
  std::mutex listening_mutex_;  // guards what follows
  bool listening_ = false;
  Worker listener_;
};

}  // namespace holdfast
