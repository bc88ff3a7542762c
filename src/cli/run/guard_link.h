// SPDX-License-Identifier: Apache-2.0
// guard_link.h - what the main process and its guard say to each other.
//
// Messages are plain values sent as they lie in memory: both ends are the same program, one forked from
// the other.  A SOCK_SEQPACKET pair keeps them whole and in order, and its end of file is a message too:
// the other side is gone.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/fd.h"
#include "cli/run/schedule.h"
#include "holdfast/clock.h"
#include "holdfast/spi/store.h"

namespace holdfast::cli {

// -- from the main process

// The descriptor that travels with it is to be CMD's stdin.
struct Input {};
// Run CMD.  The descriptor that proves the client alive travels with it.
struct Start {
  Instant deadline;
  Millis ttl;
  Token token;
  std::int64_t wall_deadline_s;  // the same for people: Unix seconds
  std::array<char, 513> owner;   // ends in NUL
  bool foreground;               // CMD gets the keyboard
  bool may_ask = false;          // not yet, but as soon as it is stopped for want of it
};
// The lease was renewed.
struct Renewed {
  Instant deadline;
};
// To CMD's group.
struct Signal {
  int number;
};
// The lease was looked at and is ours: a stopped CMD may go on.
struct Continue {
  bool foreground;
};
// The lease is not ours any more.
struct Stop {
  bool at_once;                      // without a chance to clean up
  std::optional<Millis> grace = {};  // between TERM and KILL; none: as the ttl says
  Loss reason = Loss::none;          // if it is known
};

// -- from the guard

struct Started {
  pid_t group;  // CMD's process, and the group it leads
};
struct CannotRun {
  int error;  // errno
};
struct Stopped {
  int by;             // the signal
  bool had_keyboard;  // and the guard took it back
};
// PROGRAM of --on-lost cannot be run; CMD was sent TERM instead.
struct ProgramFailed {
  int error;  // errno
};
// CMD was collected and its group is empty: its number may be somebody else's.  Something else goes on.
struct GroupGone {};
// It was sent KILL, which we may not.  Said once.
struct CannotEnd {
  pid_t pid;
};
// CMD has ended and nothing of its group runs; nothing of what left it either, if it did not end by itself.
// The last message.
struct Ended {
  int status;   // as waitpid() has it
  Cause cause;  // the guard made it end, or told it to: the lease was or would be lost, its time was over
  bool signalled = false;  // by TERM or KILL, and not only by PROGRAM
  bool had_keyboard = false;
};

using ToGuard = std::variant<Input, Start, Renewed, Signal, Continue, Stop>;
using ToMain = std::variant<Started, CannotRun, Stopped, ProgramFailed, GroupGone, CannotEnd, Ended>;

// One end of a socket pair that carries packets.  Any thread may send; one receives.
class Packets {
 public:
  explicit Packets(Fd socket) noexcept : socket_(std::move(socket)) {}

  int fd() const noexcept { return socket_.get(); }
  bool send(std::span<const std::byte> packet, int passed_fd, bool patiently) const noexcept;
  // False: none is there now.
  bool receive(std::span<std::byte> packet) noexcept;
  bool closed() const noexcept { return closed_; }
  Fd take_passed() noexcept { return std::move(passed_); }

 private:
  Fd socket_;
  Fd passed_;
  bool closed_ = false;
};

// The same, for messages of type Out to there and In from there.
template <class Out, class In>
class Link {
  static_assert(std::is_trivially_copyable_v<Out> && std::is_trivially_copyable_v<In>);

 public:
  explicit Link(Fd socket) noexcept : packets_(std::move(socket)) {}

  // Readable when receive() has something, or when the other side is gone.
  int fd() const noexcept { return packets_.fd(); }

  // Never blocks.  False if the other side is gone, or has not read for so long that no more fits.
  bool send(const Out& message, int passed_fd = -1) const noexcept {
    return packets_.send(std::as_bytes(std::span(&message, 1)), passed_fd, false);
  }
  // Blocks while no more fits.
  bool send_patiently(const Out& message, int passed_fd = -1) const noexcept {
    return packets_.send(std::as_bytes(std::span(&message, 1)), passed_fd, true);
  }

  // The next message, if there is one now.
  std::optional<In> receive() noexcept {
    In message;
    if (!packets_.receive(std::as_writable_bytes(std::span(&message, 1)))) return std::nullopt;
    return message;
  }
  // Nothing will come any more: the other side is gone.  Known once receive() has had nothing.
  bool closed() const noexcept { return packets_.closed(); }

  // The descriptor that came with the last message, or none.
  Fd take_passed() noexcept { return packets_.take_passed(); }

 private:
  Packets packets_;
};

using MainEnd = Link<ToGuard, ToMain>;
using GuardEnd = Link<ToMain, ToGuard>;

struct LinkPair {
  MainEnd main;
  GuardEnd guard;
};
LinkPair make_link();  // throws std::system_error

}  // namespace holdfast::cli
