// SPDX-License-Identifier: Apache-2.0
// run_condition.h - `run --tick` and `run --every`: whether CMD may run once the key is held.
//
// The store records the last run in one row beside the leases, "run:KEY", and the store's clock decides.  A
// tick is identified by its first moment, so its length may be changed later.
#pragma once
#include "cli/run/run.h"
#include "cli/run/wait_for_lease.h"
#include "holdfast/client.h"

namespace holdfast::cli {

// For RunRequest::admit; empty without a condition.  The function returns Errc::busy if CMD must not run now.
// If the store is `implicit`, it warns at the first run of a key that other hosts do not use that store.
std::function<Status(const Client&, const Lease&)> admission(const RunCondition& condition, bool implicit);

// Records a success for --every, while the lease is held.  Complains if it cannot, or if the store did not
// confirm just now that the lease is held: a recorded success keeps others from running.
void record_success(const Client& client, const Lease& lease, Status confirmed);

}  // namespace holdfast::cli
