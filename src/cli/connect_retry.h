// SPDX-License-Identifier: Apache-2.0
// connect_retry.h - tries again while a store cannot be reached.
#pragma once
#include <stop_token>

#include "base/random.h"
#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// Divides the time of -w between reaching the store and waiting for the key.  With -n (zero) the store is
// tried once.  Without -n and -w, the command waits forever for the key, but only ten seconds for the store,
// which may be restarting.
class ConnectRetry {
 public:
  explicit ConnectRetry(Millis wait, std::stop_token stop = {});

  // Calls `open` until it succeeds, fails with an error that is not retryable, or the time is over.
  template <class Open>
  auto connect(Open open) -> decltype(open()) {
    while (true) {
      auto opened = open();
      if (opened) return opened;
      if (!pause(opened.error())) return gave_up(std::move(opened).error());
    }
  }

  // The time limit of one `open`: a server may accept a connection and never answer.
  Millis for_opening() const;

  // The time that is left for the key.  Fractions of a second that reaching the store took do not count.
  holdfast::Wait left() const;

 private:
  // False: do not try again.
  bool pause(const Error& error);
  Error gave_up(Error error) const;
  Millis limit() const;

  const Millis wait_;
  const std::stop_token stop_;
  const Instant began_;
  Jitter jitter_;
  int pauses_ = 0;
  bool reported_ = false;
};

}  // namespace holdfast::cli
