// SPDX-License-Identifier: Apache-2.0
// listener.h - the FIFOs of a file's clients: who is alive, how to notify them, and hearing that a key may
// have become free.
//
// Beside PATH lies the folder PATH.d with one FIFO per client, TABLE.CLIENT, that the client keeps open for
// reading as long as it lives.  Opening it for writing tells whether anybody still reads:
//
//   it opens            alive; a byte written there notifies it; the open end reports an error when the last
//                       reader goes
//   ENXIO               dead, and for ever: names are random and nobody opens one a second time
//   anything else       unknown: gone in good order, or somebody else's; time decides
//
// Whoever inherits a read end (proof_of_life) counts as the client: it is dead when its last process is.
//
// So two things notify a waiter: a byte in its own FIFO, written by whoever releases a key it is first to
// get; and the death of a client that stands before it, which the kernel reports on the write end of its
// FIFO.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "holdfast/spi/store.h"

namespace holdfast::sqlite {

enum class Life : std::uint8_t { alive, dead, unknown };

// The client that a holder's name speaks of: our own names end in guid: and 32 hex digits, and begin with
// the client's 16.  Empty: none.
std::string_view client_named_in(std::string_view owner) noexcept;

class Presence {
 public:
  // `database` is the path of the file; `client` 16 hex digits.  Makes nothing yet.
  Presence(std::string_view database, std::string_view table, std::string client);
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  // Takes the FIFO away, unless something may still be held: then it stays and shows that we are dead.
  ~Presence();

  // Makes the FIFO.  Throws Failure.  Called once, before all below.
  void appear();
  bool appeared() const noexcept { return static_cast<bool>(fifo_); }

  const std::string& client() const noexcept { return client_; }
  const std::string& folder() const noexcept { return folder_; }
  // Readable when somebody has notified us.
  int fd() const noexcept { return fifo_.get(); }
  // A new descriptor that shows us alive wherever it is open; -1 if there is none.
  int proof_of_life() const noexcept;
  // In a forked child: closes its copy of what shows its parent alive.
  void abandon() noexcept { fifo_.reset(); }

  struct OpenedFifo {
    Life life;
    Fd fd;  // alive: reports an error when the client dies
  };
  OpenedFifo open_fifo(std::string_view client) const;
  Life probe(std::string_view client) const {
    return client == client_ ? Life::alive : open_fifo(client).life;
  }
  Life notify(std::string_view client) const;

  // Leases granted to us and given back, as far as we know: whether dying means anything to anybody.
  void granted() noexcept { ++held_; }
  void released() noexcept { --held_; }

  // Clients of our table that have died, at most so many: a different part of them each time.
  std::vector<std::string> some_dead(std::size_t most, std::uint64_t random) const;
  // REQUIRES: the client is dead and no row speaks of it.
  void forget(std::string_view client) const;
  // REQUIRES: the machine has rebooted and nobody has appeared since.
  void forget_all() const;

 private:
  std::string fifo_of(std::string_view client) const;
  std::vector<std::string> everyone() const;

  const std::string folder_;
  const std::string prefix_;  // of the names of our table's FIFOs
  const std::string client_;
  Fd fifo_;
  std::atomic<long> held_ = 0;
};

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
