// SPDX-License-Identifier: Apache-2.0
// job_words.h - a job in a few words.
#pragma once
#include <string>

#include "holdfast/spi/job_engine.h"

namespace holdfast::cli {

// What its state does not tell: for what it waits, who has it, how it failed.
std::string note_of(const JobRow& job, Moment now);

// Those that count: one that took its worker with it does not.
inline int attempts_of(const JobRow& job) noexcept { return job.attempt - job.crashes; }

}  // namespace holdfast::cli
