// SPDX-License-Identifier: Apache-2.0
// stream.h - the bytes below the driver, with a deadline: its own timeouts are the same for every call.
#pragma once
#include <mongoc/mongoc.h>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast::mongodb {

// Shared by a client's streams.
struct Deadline {
  Instant until = Instant::max();
  bool wrote = false;               // something was sent since this was last false
  mongoc_stream_t* last = nullptr;  // the stream that was opened last, while it is open

  // When a wait of that many milliseconds ends; negative: without end.
  Instant end_of(std::int32_t timeout) const noexcept;
};

// A stream of the driver on a socket.  `deadline` outlives it.
mongoc_stream_t* stream_on(Fd socket, Deadline& deadline);

}  // namespace holdfast::mongodb
