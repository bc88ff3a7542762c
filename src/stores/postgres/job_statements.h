// SPDX-License-Identifier: Apache-2.0
// job_statements.h - what an engine asks again and again, for one set of tables.
#pragma once
#include "stores/postgres/connection.h"
#include "stores/postgres/tables.h"

namespace holdfast::postgres {

// By the names of their files in sql/job_*.sql.
struct JobStatements {
  explicit JobStatements(const Tables& tables);

  Statement enqueue, claim, finish, unpark, renew, tick, success;
  // What the careful way of claim, and a change by hand, do in one transaction.
  Statement hold_next, claim_held, spoil, hold_one, change;
  // Of any, of one, and of one key.
  Statement list, list_id, list_key, ticks, purge;
};

// How often each was run on one connection.
struct JobUses {
  std::uint8_t enqueue = 0, claim = 0, finish = 0, unpark = 0, renew = 0, tick = 0, success = 0,
               hold_next = 0, claim_held = 0, hold_one = 0, change = 0;
};

// As JobStatements::enqueue, for a connection that is not ours.
std::string enqueue_text(const Tables& tables);

}  // namespace holdfast::postgres
