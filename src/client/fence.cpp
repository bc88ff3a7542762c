// SPDX-License-Identifier: Apache-2.0
#include "holdfast/fence.h"

#include <algorithm>
#include <optional>

#include "base/fence_file.h"
#include "base/sync.h"

namespace holdfast {

struct FenceGuard::Mark {
  std::optional<std::string> file;  // none: the mark is `seen`
  Token seen = no_token;            // only the thread that is inside uses it

  // Lets one thread in at a time.  Also before a file is locked: the mutex orders the threads' memory
  // accesses, and a lock on a file does not.
  Status come_in(Millis wait, Instant until) {
    std::unique_lock lock(mutex);
    const auto is_free = [this] { return !occupied; };
    if (until == Instant::max()) {
      left.wait(lock, is_free);
    } else if (!left.wait_until(lock, until, is_free)) {
      return Error{wait > Millis::zero() ? Errc::timeout : Errc::busy, "another thread is inside the fence"};
    }
    occupied = true;
    return Status{};
  }
  void leave() noexcept {
    const std::lock_guard lock(mutex);
    occupied = false;
    left.notify_one();
  }

 private:
  Mutex mutex;
  Condition left;
  bool occupied = false;
};

struct FenceGuard::Pass::Inside {
  std::shared_ptr<Mark> mark = {};  // none: not inside yet
  std::optional<FenceFile> file = {};

  Inside() = default;
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    file.reset();
    if (mark) mark->leave();
  }
};

FenceGuard::Pass::Pass(Token token, std::unique_ptr<Inside> inside)
    : token_(token), inside_(std::move(inside)) {}
FenceGuard::Pass::Pass(Pass&&) noexcept = default;
FenceGuard::Pass::~Pass() = default;

FenceGuard::FenceGuard() : FenceGuard(std::make_shared<Mark>()) {}
FenceGuard::FenceGuard(std::shared_ptr<Mark> mark) : mark_(std::move(mark)) {}

FenceGuard FenceGuard::beside(std::string file) {
  auto mark = std::make_shared<Mark>();
  mark->file = std::move(file);
  return FenceGuard(std::move(mark));
}

FenceGuard::Pass FenceGuard::enter(Token token, Wait wait) { return try_enter(token, wait).value(); }

Result<FenceGuard::Pass> FenceGuard::try_enter(Token token, Wait wait) {
  const Instant until = clamped_add(BootClock::now(), wait);
  auto inside = std::make_unique<Pass::Inside>();  // first: it may throw
  if (Status s = mark_->come_in(wait, until); !s) return std::move(s).error();
  inside->mark = mark_;
  if (mark_->file) {
    const bool for_ever = until == Instant::max();
    const auto left = std::chrono::duration_cast<Millis>(until - BootClock::now());
    auto file =
        FenceFile::claim(*mark_->file, token, for_ever ? Millis(forever) : std::max(left, Millis::zero()));
    if (!file) return std::move(file).error();
    inside->file = *std::move(file);
  } else {
    if (Status s = check_claim(token, mark_->seen, "the fence"); !s) return std::move(s).error();
    mark_->seen = token;
  }
  return Pass(token, std::move(inside));
}

bool FenceGuard::admits(Token token) {
  auto pass = try_enter(token);
  if (!pass && pass.error().code != Errc::lost) throw_failure(std::move(pass).error());
  return pass.has_value();
}

}  // namespace holdfast
