// SPDX-License-Identifier: Apache-2.0
// connecting.h - a store that cannot be reached just now is waited for.
#pragma once
#include <stop_token>

#include "base/random.h"
#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// The time of -w, which is for reaching the store and then for the key.  With -n (zero) the store is asked
// once.  Without both a key is waited for for ever, but a store that cannot be reached only for ten seconds:
// it may be restarting.
class Connecting {
 public:
  explicit Connecting(Millis wait, std::stop_token stop = {});

  // Calls `open` until it succeeds, fails in a way that does not pass by itself, or the time is over.
  template <class Open>
  auto reach(Open open) -> decltype(open()) {
    while (true) {
      auto opened = open();
      if (opened) return opened;
      if (!pause(opened.error())) return gave_up(std::move(opened).error());
    }
  }

  // How long one `open` may take: a server may accept and never answer.
  Millis for_opening() const;

  // What reaching the store has left for the key, to the second: what a usual opening takes does not count.
  Millis left() const;

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
  bool told_ = false;
};

}  // namespace holdfast::cli
