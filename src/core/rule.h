// SPDX-License-Identifier: Apache-2.0
// rule.h - the table of holdfast/spi/store.h: what becomes of a request, by what is kept of its key.
//
// It is the whole contract in one place, and what the memory store answers.  A database that can run it on
// its own does so in its language (Lua, SQL); one that only keeps rows reads them, asks here, and writes what
// was changed.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/row.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

struct Place {
  std::string client = {};
  std::string owner = {};
  Micros until{};

  // For that client, to which no place of another counts that ends after `latest`.
  bool counts(std::string_view for_client, std::optional<Micros> latest) const noexcept {
    return client == for_client || !latest || until <= *latest;
  }
};

// What is kept of a key.  One that was never seen is an empty one.
struct Record {
  std::string owner = {};  // empty: free
  Token token{};
  std::optional<Micros> end = Micros::zero();  // none: without end.  Of a free one: since when it is free
  std::optional<Millis> ttl = {};  // what remained when `end` was last set; none: without end, or not known
  Micros since{};
  std::string note = {};
  bool detached = false;
  std::vector<Place> queue = {};  // first in the queue first

  bool live(Micros now) const noexcept { return !owner.empty() && lease_is_live(end, now); }
};

// The store's clocks when it decides.
struct LeaseMoment {
  Micros now{};    // decides expiry
  Micros wall{};   // since 1970: goes into tokens
  Token purged{};  // the largest token of all that it has purged
};

struct Outcome {
  enum class Place : std::uint8_t { untouched, kept, left };

  Reply reply{};
  bool changed = false;                  // holder, token, end, since, note or detached of the record
  Place place = Place::untouched;        // this client's
  std::optional<LogRow> log = {};        // to be written down
  std::optional<std::string> ring = {};  // the client to notify
};

// Changes `record` as the request asks.  Places that have run out go.
Outcome decide(const Request& request, std::string_view client, Record& record, const LeaseMoment& moment);

}  // namespace holdfast::core
