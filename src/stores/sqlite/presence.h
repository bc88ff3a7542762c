// SPDX-License-Identifier: Apache-2.0
// presence.h - who of a file's clients is alive, and how to call them.
//
// Beside PATH lies the folder PATH.d with one FIFO per client, TABLE.CLIENT, that the client keeps open for
// reading as long as it lives.  Opening it for writing tells whether anybody still reads:
//
//   it opens            alive; a byte written there rings it; the open end reports an error when the last
//                       reader goes
//   ENXIO               dead, and for ever: names are random and nobody opens one a second time
//   anything else       unknown: gone in good order, or somebody else's; time decides
//
// Whoever inherits a read end (proof_of_life) counts as the client: it is dead when its last process is.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

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
  // Readable when somebody rang.
  int fd() const noexcept { return fifo_.get(); }
  // A new descriptor that shows us alive wherever it is open; -1 if there is none.
  int proof_of_life() const noexcept;
  // In a forked child: closes its copy of what shows its parent alive.
  void abandon() noexcept { fifo_.reset(); }

  struct Reached {
    Life life;
    Fd line;  // alive: reports an error when the client dies
  };
  Reached lock_visibility(std::string_view client) const;
  Life probe(std::string_view client) const {
    return client == client_ ? Life::alive : lock_visibility(client).life;
  }
  Life ring(std::string_view client) const;

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

}  // namespace holdfast::sqlite
