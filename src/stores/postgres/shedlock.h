// SPDX-License-Identifier: Apache-2.0
// shedlock.h - layout=shedlock: a batch of requests beside the table of Java's ShedLock.  shedlock.sql says
// how.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/batching.h"
#include "core/row.h"
#include "holdfast/spi/store.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/probe.h"

namespace holdfast::postgres {

// `tables` in the schema in which the search path finds ShedLock's table.
Tables where_shedlock_is(Connection& connection, const Tables& tables, Instant until);

// Reads ShedLock's table; adds to `probe` what is wrong with it, or that it is missing.
void look_at_shedlock(Connection& connection, ServerProbe& probe, Instant until);

// Runs `apply` inside of a transaction that makes both tables agree before and after it.
class ShedlockBatch {
 public:
  // `longest_owner`: letters in the column locked_by; 0: as many as you like.
  ShedlockBatch(const Tables& tables, std::size_t longest_owner);

  // The parameters of apply, and its answer.
  Answer run(Connection& connection, Parameters& apply, std::span<const Request> requests,
             const core::KeyBatch& key_batch, std::int64_t void_after, Millis patience, Instant until);

  // The transaction was undone because the call's time was over.
  static bool was_too_late(const Trouble& trouble) { return trouble.state == "22012"; }

  // What {locks} says of a lock of ShedLock's, as people are told it.
  static void show(core::Row& row);

 private:
  Statements statements_;
  const std::int64_t longest_owner_;
  Parameters made_, taken_, written_;
};

}  // namespace holdfast::postgres
