// SPDX-License-Identifier: Apache-2.0
// enqueuer.h - a new job as parameters of `enqueue`, and what that answers: for our connections, and for a
// caller's own (holdfast/postgres.h).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/spi/job_engine.h"
#include "stores/postgres/statements.h"

namespace holdfast::postgres {

// `job` and `parameters` are used until the statement was sent.
void put_new_job(Parameters& parameters, const NewJob& job, Millis patience);

// What `enqueue` says.  None: it has to be asked again.
class EnqueueTalk {
 public:
  std::optional<EnqueueReply> hear(const Answer& answer);

 private:
  JobId unseen_{};  // had the tick, and is gone or too young to be seen
};

// "Somebody has had our rows locked for all of our time": nothing was changed.
Error contended(const std::string& where, const Trouble& trouble);

// Texts that are too long for a column of the lock table would be cut by nobody, but fail.  Throws Failure.
// `longest` in letters; 0: as long as you like.
void require_fit(std::string_view text, std::size_t longest, const char* column, const std::string& table);
// Its lock's key, in a column that takes so many letters.
void require_key_fits(const NewJob& job, std::size_t longest, const std::string& table);

// How long locked rows are waited for in a call that ends then: a part of it is left for the answer.
Millis patience_for(Instant until);

}  // namespace holdfast::postgres
