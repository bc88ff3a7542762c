// SPDX-License-Identifier: Apache-2.0
// trial_job.h - the job that is killed: the same in the test and in its peers.
#pragma once
#include <functional>
#include <string>

#include "holdfast/jobs.h"
#include "tests/support/await.h"

namespace holdfast::test {

inline JobOptions trial_options(bool loner) { return {.lock = JobLock{.loner = loner}}; }
inline Args trial_args(const std::string& key) { return Args::of(key); }

// `note` is called when it starts and when it ends.
inline void define_trial(Jobs& jobs, std::function<void(const JobContext&, const char*)> note) {
  jobs.define("Trial", trial_options(false), [note = std::move(note)](JobContext& context, const Args&) {
    note(context, "start");
    let_pass(std::chrono::milliseconds(2));  // it takes some time to be killed in
    note(context, "end");
  });
}

}  // namespace holdfast::test
