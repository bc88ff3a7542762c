// SPDX-License-Identifier: Apache-2.0
// listener.h - hears when a key may have become free.
//
// Two things notify: a byte in our own FIFO, written by whoever releases a key we are first to get; and the
// death of a client that stands before us, which the kernel reports on the write end of its FIFO.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/presence.h"

namespace holdfast::sqlite {

// The keys this client waits for, and whose death would free them.  Any thread may call any of it.
class Waits {
 public:
  explicit Waits(Presence& presence) : presence_(presence) {}
  // Throws Failure.  Called once, after presence.appear() and before all below.
  void open();
  bool is_open() const noexcept { return static_cast<bool>(epoll_); }

  // We have a place in the queue of `key`; `before` is the client that stands before us ("": not known).
  void await(std::string_view key, std::string_view before);
  // We have none any more.
  void settle(std::string_view key);
  bool waiting(std::string_view key) const;

  int fd() const noexcept { return epoll_.get(); }
  // Takes all notifications.
  void drain();

 private:
  struct Line {
    Fd fd;
    int keys = 0;
  };
  void drop_line(std::map<std::string, Line, std::less<>>::iterator line);
  void settle_locked(std::string_view key);

  Presence& presence_;
  Fd epoll_;
  mutable std::mutex mutex_;
  std::atomic<std::size_t> count_ = 0;                    // of keys_: to look without the lock
  std::map<std::string, std::string, std::less<>> keys_;  // key: whom we watch
  std::map<std::string, Line, std::less<>> lines_;        // client: the write end of its FIFO
};

class FifoListener final : public StoreListener {
 public:
  explicit FifoListener(std::shared_ptr<Waits> waits) : waits_(std::move(waits)) {}
  int fd() const noexcept override { return waits_->fd(); }
  Result<std::vector<std::string>> ready() override {
    waits_->drain();
    return std::vector<std::string>{};
  }

 private:
  const std::shared_ptr<Waits> waits_;
};

}  // namespace holdfast::sqlite
