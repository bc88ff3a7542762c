// SPDX-License-Identifier: Apache-2.0
// job_words.h - the words of the commands of jobs: NAME, its arguments, and the numbers of jobs.
#pragma once
#include <string>
#include <vector>

#include "cli/words/values.h"
#include "holdfast/job.h"

namespace holdfast::cli {

inline constexpr OptionSpec args_option{"--args", "JSON",
                                        "all arguments as one JSON array, instead of words"};

// The first word.
std::string name_of_job(const Given& given);
// The other words, or --args.
Args args_of_job(const Given& given);
// --queue, which may be given once; empty: it was not.
std::string queue_of_job(const Given& given);
// Every word is one.
std::vector<JobId> job_ids_of(const Given& given);

// Whether a key can be made of the arguments, if the job has a lock.
void check_lock_key(const std::string& name, const JobOptions& options, const Args& args);

}  // namespace holdfast::cli
