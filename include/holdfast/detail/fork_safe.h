// SPDX-License-Identifier: Apache-2.0
// fork_safe.h - a shared pointer that does nothing in a forked child.
#pragma once
#include <memory>
#include <utility>

namespace holdfast::detail {

// In a child after fork(), even dropping a reference can need a lock that a thread of the parent held at the
// fork.  So the child leaks the reference: leak_if_forked(std::shared_ptr<T>&) does that for each T.
template <class T>
class ForkSafe {
 public:
  explicit ForkSafe(std::shared_ptr<T> shared) noexcept : shared_(std::move(shared)) {}
  ForkSafe(const ForkSafe&) noexcept = default;
  ForkSafe(ForkSafe&&) noexcept = default;
  ForkSafe& operator=(ForkSafe other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~ForkSafe() {
    if (shared_) leak_if_forked(shared_);
  }

  T* operator->() const noexcept { return shared_.get(); }
  T& operator*() const noexcept { return *shared_; }
  const std::shared_ptr<T>& shared() const noexcept { return shared_; }

 private:
  std::shared_ptr<T> shared_;
};

}  // namespace holdfast::detail
