// SPDX-License-Identifier: Apache-2.0
// task.h - a thread of a simulated process: a coroutine that gives way where a real thread would block.
#pragma once
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace holdfast::sim {

// Begins when awaited or started, and goes on with whoever awaited it when done.  Destroying it ends it
// where it stands, as kill -9 ends a thread, and with it all that it awaits.
template <class T>
class [[nodiscard]] Task;

namespace detail {

struct Transfer {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
    const auto next = done.promise().awaited_by;
    return next ? next : std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> awaited_by;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Transfer final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }  // nothing here throws
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object() noexcept;
  void return_value(T v) { value.emplace(std::move(v)); }
  T take() { return *std::move(value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs it until it first gives way.
  void start() { handle_.resume(); }
  bool done() const { return handle_.done(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> by) noexcept {
    handle_.promise().awaited_by = by;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}
}  // namespace detail

// Where one task stands until somebody lets it go on.
struct Parking {
  std::coroutine_handle<> who;
  bool open = false;

  // By value: g++ 12 copies an awaited lvalue.
  struct Stand {
    Parking* parking;
    bool await_ready() const noexcept { return parking->open; }
    void await_suspend(std::coroutine_handle<> task) const noexcept { parking->who = task; }
    void await_resume() const noexcept { parking->open = false; }
  };
  // To be awaited at once.
  Stand stand() { return {this}; }

  void let_go() {
    if (who)
      std::exchange(who, nullptr).resume();
    else
      open = true;
  }
};

}  // namespace holdfast::sim
