// SPDX-License-Identifier: Apache-2.0
// guard_link.h - the messages between the main process and its guard.
//
// Messages are sent as they lie in memory: both ends are the same program, one forked from the other.  A
// SOCK_SEQPACKET pair keeps them whole and in order, and its end of file means that the other side is gone.
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

// The descriptor that is passed with it becomes CMD's stdin.
struct Input {};
// Run CMD.  The descriptor that proves that the client lives is passed with it.
struct Start {
  Instant deadline;
  Millis ttl;
  Token token;
  std::int64_t wall_deadline_s;  // the same on the wall clock, in Unix seconds
  std::array<char, 513> owner;   // ends in NUL
  bool foreground;               // CMD gets the keyboard
  bool may_ask = false;          // not yet, but when it stops because it has no keyboard
};
// The lease was renewed.
struct Renewed {
  Instant deadline;
};
// A signal for CMD's group.
struct Signal {
  int number;
};
// The lease was checked and is ours: a stopped CMD may continue.
struct Continue {
  bool foreground;
};
// The lease is not ours any more.
struct Stop {
  bool at_once;                      // without a chance to clean up
  std::optional<Millis> grace = {};  // between TERM and KILL; none: derived from the ttl
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
// CMD was collected and its group is empty: its number may be reused.  PROGRAM still runs.
struct GroupGone {};
// We may not kill this process.  Sent once.
struct CannotEnd {
  pid_t pid;
};
// CMD has ended, and no process of its group runs; if CMD was ended, neither do processes that left the
// group.  The last message.
struct Ended {
  int status;              // of waitpid()
  Cause cause;             // why the guard ended it: the lease was or would be lost, or its time was over
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
  // False if no packet has arrived.
  bool receive(std::span<std::byte> packet) noexcept;
  bool closed() const noexcept { return closed_; }
  Fd take_passed() noexcept { return std::move(passed_); }

 private:
  Fd socket_;
  Fd passed_;
  bool closed_ = false;
};

// The same for messages: sends Out and receives In.
template <class Out, class In>
class Link {
  static_assert(std::is_trivially_copyable_v<Out> && std::is_trivially_copyable_v<In>);

 public:
  explicit Link(Fd socket) noexcept : packets_(std::move(socket)) {}

  // Readable when a message has arrived, or the other side is gone.
  int fd() const noexcept { return packets_.fd(); }

  // Never blocks.  False if the other side is gone, or the buffer is full because it has not read for long.
  bool send(const Out& message, int passed_fd = -1) const noexcept {
    return packets_.send(std::as_bytes(std::span(&message, 1)), passed_fd, false);
  }
  // Blocks while the buffer is full.
  bool send_patiently(const Out& message, int passed_fd = -1) const noexcept {
    return packets_.send(std::as_bytes(std::span(&message, 1)), passed_fd, true);
  }

  // The next message, if one has arrived.
  std::optional<In> receive() noexcept {
    In message;
    if (!packets_.receive(std::as_writable_bytes(std::span(&message, 1)))) return std::nullopt;
    return message;
  }
  // The other side is gone, and all its messages were received.  Known after receive() has returned nullopt.
  bool closed() const noexcept { return packets_.closed(); }

  // The descriptor that came with the last message, or none.
  Fd take_passed() noexcept { return packets_.take_passed(); }

 private:
  Packets packets_;
};

// The two sockets of a pair that carries packets.  Throws std::system_error.
std::pair<Fd, Fd> packet_sockets();

using MainEnd = Link<ToGuard, ToMain>;
using GuardEnd = Link<ToMain, ToGuard>;

struct LinkPair {
  MainEnd main;
  GuardEnd guard;
};
LinkPair make_link();  // throws std::system_error

}  // namespace holdfast::cli
