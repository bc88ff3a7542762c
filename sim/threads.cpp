// SPDX-License-Identifier: Apache-2.0
#include "sim/threads.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "base/wakeup.h"
#include "base/worker.h"

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_ASAN 1
#endif
#endif
#ifdef HOLDFAST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace holdfast {
namespace sim {
namespace {

#ifdef HOLDFAST_ASAN
constexpr std::size_t stack_size = 1 << 20;
#else
constexpr std::size_t stack_size = 1 << 18;
#endif
constexpr std::size_t guard_size = 1 << 12;

#ifdef HOLDFAST_ASAN
// Of the thread that steps the timeline.  Each simulated thread learns it when it is entered.
const void* world_bottom = nullptr;
std::size_t world_size = 0;
#endif

Threads* existing = nullptr;

// Stacks are kept for the next thread: most live for a few simulated seconds.
std::vector<std::byte*>& free_stacks() {
  static std::vector<std::byte*> stacks;
  return stacks;
}

}  // namespace

Threads::Threads(Timeline& timeline, std::function<std::uint64_t()> random, std::function<Moment()> wall)
    : timeline_(timeline), random_(std::move(random)), wall_(std::move(wall)) {
  assert(existing == nullptr);
  existing = this;
}

Threads::~Threads() { existing = nullptr; }

Threads& Threads::here() {
  assert(existing != nullptr);
  return *existing;
}

Threads* Threads::exists() noexcept { return existing; }

std::byte* Threads::take_stack() {
  auto& stacks = free_stacks();
  if (!stacks.empty()) {
    std::byte* const stack = stacks.back();
    stacks.pop_back();
    return stack;
  }
  void* const room = mmap(nullptr, guard_size + stack_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED || mprotect(room, guard_size, PROT_NONE) != 0) std::abort();
  return static_cast<std::byte*>(room) + guard_size;
}

std::shared_ptr<Thread> Threads::start(Home home, std::function<void()> work) {
  const auto thread = std::make_shared<Thread>();
  thread->home_ = home;
  thread->work_ = std::move(work);
  thread->stack_ = take_stack();
  getcontext(&thread->context_);
  thread->context_.uc_stack.ss_sp = thread->stack_;
  thread->context_.uc_stack.ss_size = stack_size;
  thread->context_.uc_link = nullptr;
  makecontext(&thread->context_, &Threads::begin, 0);
  ++alive_[home.process];
  thread->waits_ = true;
  wake(thread);
  return thread;
}

// Where each thread begins.
void Threads::begin() {
  Threads& threads = here();
#ifdef HOLDFAST_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &world_bottom, &world_size);
#endif
  Thread& me = *threads.current_;
  me.work_();
  me.work_ = nullptr;
  me.ended_ = true;
  for (const auto& other : std::exchange(me.joining_, {})) threads.wake(other);
  threads.swap(me.context_, threads.world_, me, false);
  std::abort();  // an ended thread does not go on
}

void Threads::swap(ucontext_t& from, ucontext_t& to, Thread& thread, bool into) {
  // The list of exceptions that are being handled belongs to the thread.
  struct Exceptions {
    void* caught;
    unsigned uncaught;
  };
  auto* const exceptions = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  static_assert(sizeof(Exceptions) <= sizeof thread.exceptions_);
  void* saved[2] = {};
  std::memcpy(saved, exceptions, sizeof(Exceptions));
  std::memcpy(exceptions, thread.exceptions_, sizeof(Exceptions));
  std::memcpy(thread.exceptions_, saved, sizeof(Exceptions));
#ifdef HOLDFAST_ASAN
  void* fake = nullptr;
  const bool ends = !into && thread.ended_;
  if (into)
    __sanitizer_start_switch_fiber(&fake, thread.stack_, stack_size);
  else
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake, world_bottom, world_size);
#else
  (void)into;
#endif
  swapcontext(&from, &to);
#ifdef HOLDFAST_ASAN
  if (into)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
  else
    __sanitizer_finish_switch_fiber(fake, &world_bottom, &world_size);
#endif
}

void Threads::run(const std::shared_ptr<Thread>& thread) {
  assert(!current_);
  current_ = thread;
  swap(world_, thread->context_, *thread, true);
  current_ = nullptr;
  if (!thread->ended_) return;
#ifdef HOLDFAST_ASAN
  __asan_unpoison_memory_region(thread->stack_, stack_size);  // its last frames never returned
#endif
  free_stacks().push_back(std::exchange(thread->stack_, nullptr));
  const auto alive = alive_.find(thread->home_.process);
  if (--alive->second == 0) alive_.erase(alive);
}

bool Threads::wait(Instant until) {
  assert(current_ && looking_ == nullptr);
  const std::shared_ptr<Thread> me = current_;
  const std::uint64_t number = ++me->wait_;
  me->waits_ = true;
  me->woken_ = false;
  const True when = me->home_.clock->when(until);
  timeline_.at(when == never_comes ? when : std::max(when, timeline_.now()), me->home_.process,
               [this, me, number] {
                 if (!me->waits_ || me->wait_ != number) return;
                 me->waits_ = false;
                 run(me);
               });
  swap(me->context_, world_, *me, false);
  return me->woken_;
}

void Threads::wake(const std::shared_ptr<Thread>& thread) {
  if (!thread->waits_ || thread->woken_) return;
  thread->woken_ = true;
  timeline_.at(timeline_.now(), thread->home_.process, [this, thread, number = thread->wait_] {
    if (!thread->waits_ || thread->wait_ != number) return;
    thread->waits_ = false;
    run(thread);
  });
}

void Threads::join(const std::shared_ptr<Thread>& thread, Instant until) {
  while (!thread->ended_ && BootClock::now() < until) {
    thread->joining_.push_back(current_);
    wait(until);
  }
  std::erase(thread->joining_, current_);
}

Instant Threads::now() const {
  assert(looking_ || current_);
  return (looking_ ? *looking_ : current_->home_).clock->at(timeline_.now());
}

Descriptor* descriptor(int number) {
  const auto& all = Threads::here().descriptors_;
  const auto found = all.find(number);
  return found == all.end() ? nullptr : found->second;
}

Descriptor::Descriptor() : number_(++Threads::here().last_descriptor_) {
  Threads::here().descriptors_.emplace(number_, this);
}

Descriptor::~Descriptor() { Threads::here().descriptors_.erase(number_); }

void Descriptor::set_readable(bool readable) {
  readable_ = readable;
  if (readable && asleep) Threads::here().wake(asleep);
}

}  // namespace sim

// -- what the library waits with

void Mutex::lock() {
  while (locked_) {
    sim::Threads& threads = sim::Threads::here();
    waiting_.push_back(threads.current());
    threads.wait(Instant::max());
  }
  locked_ = true;
}

bool Mutex::try_lock() { return !std::exchange(locked_, true); }

void Mutex::unlock() {
  assert(locked_);
  locked_ = false;
  if (waiting_.empty()) return;
  const auto next = std::move(waiting_.front());
  waiting_.pop_front();
  sim::Threads::here().wake(next);
}

void Condition::wait(std::unique_lock<Mutex>& lock, Instant until) {
  sim::Threads& threads = sim::Threads::here();
  const auto me = threads.current();
  waiting_.push_back(me);
  lock.unlock();
  threads.wait(until);
  std::erase(waiting_, me);
  lock.lock();
}

void Condition::notify_one() {
  if (waiting_.empty()) return;
  const auto first = std::move(waiting_.front());
  waiting_.pop_front();
  sim::Threads::here().wake(first);
}

void Condition::notify_all() {
  while (!waiting_.empty()) notify_one();
}

void let_others_run() noexcept {
  sim::Threads& threads = sim::Threads::here();
  if (threads.current()) threads.wait(BootClock::now());
}

void Wakeup::ring() noexcept {
  rung_ = true;
  if (asleep_) sim::Threads::here().wake(asleep_);
}

Wakeup::Why Wakeup::wait(Instant at, int extra_fd) {
  sim::Threads& threads = sim::Threads::here();
  while (true) {
    if (std::exchange(rung_, false)) return Why::ready;
    sim::Descriptor* const extra = extra_fd < 0 ? nullptr : sim::descriptor(extra_fd);
    if (extra && extra->readable()) return Why::extra;
    if (BootClock::now() >= at) return Why::moment;
    asleep_ = threads.current();
    if (extra) extra->asleep = asleep_;
    threads.wait(at);
    if (sim::Descriptor* const still = extra_fd < 0 ? nullptr : sim::descriptor(extra_fd))
      still->asleep = nullptr;
    asleep_ = nullptr;
  }
}

Worker::Worker(std::function<void()> work) {
  sim::Threads& threads = sim::Threads::here();
  thread_ = threads.start(threads.home(), std::move(work));
}

bool Worker::ended() const { return thread_->ended(); }

bool Worker::is_this_thread() const noexcept {
  return thread_ != nullptr && sim::Threads::here().current() == thread_;
}

void Worker::finish(Millis patience) noexcept {
  if (!thread_) return;
  const auto thread = std::exchange(thread_, nullptr);
  if (patience > Millis::zero() && sim::Threads::here().current() != thread)
    sim::Threads::here().join(thread, clamped_add(BootClock::now(), patience));
}

// -- what the library takes from its machine

Instant BootClock::now() noexcept {
  if (const sim::Threads* threads = sim::Threads::exists()) return threads->now();
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

Moment wall_now() noexcept {
  if (const sim::Threads* threads = sim::Threads::exists()) return threads->wall();
  return Moment(std::chrono::seconds(std::time(nullptr)));
}

std::uint64_t random_bits() {
  if (sim::Threads* threads = sim::Threads::exists()) return threads->random();
  return static_cast<std::uint64_t>(BootClock::now().time_since_epoch().count());
}

}  // namespace holdfast
