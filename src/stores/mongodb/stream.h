// SPDX-License-Identifier: Apache-2.0
// stream.h - the bytes below the driver, with a deadline: its own timeouts are the same for every call.
#pragma once
#include <vector>

#include "base/fd.h"
#include "holdfast/clock.h"
#include "stores/mongodb/mongoc.h"

namespace holdfast::mongodb {

// Shared by a client's streams.
struct Deadline {
  Instant until = Instant::max();
  bool wrote = false;                          // something was sent since this was last false
  std::vector<mongoc_stream_t*> streams = {};  // all that are open; of a replica set one for each member

  // When a wait of that many milliseconds ends; negative: without end.
  Instant end_of(std::int32_t timeout) const noexcept;
  // None is open, or the other side has closed one.
  bool any_closed() const;
};

// A stream of the driver on a socket.  `deadline` outlives it.  Without a socket it is one that is broken:
// all that is done with it fails at once.
mongoc_stream_t* stream_on(Fd socket, Deadline& deadline);

}  // namespace holdfast::mongodb
