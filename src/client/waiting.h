// SPDX-License-Identifier: Apache-2.0
// waiting.h - the threads of this process that wait for keys, and the listener that wakes them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sync.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "core/acquiring.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Each key that threads wait for has a gate.  All waiters of a process for a key are one waiter at the store;
// among themselves they are served in order.  One thread listens to the client's listener and wakes the first
// waiter of a gate.  It starts when a waiter first has to sleep.
class Waiting {
 public:
  using MakeListener = std::function<Result<std::unique_ptr<StoreListener>>(Instant until)>;
  explicit Waiting(MakeListener make_listener)
      : state_(std::make_shared<State>()), make_listener_(std::move(make_listener)) {}
  ~Waiting();

  class Waiter;
  struct Door {
    core::Gate<Waiter*> gate;
    Reply last{.verdict = Verdict::busy};
    bool queued = false;  // the store may keep a place for this client
  };

  // One thread at a gate.  It leaves the gate when it is destroyed.
  class Waiter {
   public:
    Waiter(Waiting& waiting, std::string_view key);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    bool first() const;
    // From now on the store may keep a place for this client.  After granted() it does not.
    void queueing();
    void granted();
    // Leaves the gate.  True: no thread of this client waits any more, and the store may keep a place for it.
    bool leave();
    // Sleeps until then, or until a notification, a call of wake(), or until it becomes first.
    void sleep(Instant until);
    // Ends its sleep.  Any thread may call it.
    void wake();
    // The store's last reply, which other threads of this process use too (queue_at).
    void set_last_reply(const Reply& reply);
    Reply last_reply() const;

   private:
    friend class Waiting;
    Waiting& waiting_;
    void ring();        // REQUIRES: the mutex is held
    void leave_gate();  // the same
    Door& door() const;

    const std::string key_;
    std::optional<Wakeup> wakeup_;  // made when it first sleeps: most waiters never do
    bool rung_ = false;             // ring() was called before that
    bool left_ = false;
  };

  // The last reply to the first waiter for that key; none if no thread waits for it.
  std::optional<Reply> queue_at(std::string_view key) const;

  // The number of threads of this process that wait for the key.
  std::size_t waiters(std::string_view key) const;

  // A function that returns whether a thread of this process waits for a key; then that thread takes over the
  // place that the store may keep for us.  It may be called after this object was destroyed.
  std::function<bool(std::string_view key)> heir() const;

  // Subscribes to notifications.  If the store cannot notify, or no thread can be started, the waiters poll.
  // Call it after a place was kept and before the next request.  Returns by `until` or soon after.  If it
  // could not subscribe by then, the next call tries again.  A thread that comes meanwhile does not wait for
  // that, and is woken when it is done.
  void listen(Instant until);

 private:
  struct State {
    Mutex mutex;
    std::map<std::string, Door, std::less<>> doors;
    Wakeup wakeup;
    bool closed = false;
  };
  static void ring(State& state, StoreListener& listener);
  // The first waiters of these keys; null: of all.
  static void wake(State& state, const std::vector<std::string>* keys);

  const std::shared_ptr<State> state_;
  const MakeListener make_listener_;
  Mutex listening_mutex_;  // guards what follows
  bool connecting_ = false, listening_ = false;
  bool passed_by_ = false;  // other threads came while one connected
  Worker listener_;
};

}  // namespace holdfast
