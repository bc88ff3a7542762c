// SPDX-License-Identifier: Apache-2.0
// run_condition.h - `run --tick` and `run --every`: whoever has the key may still not be the one to run.
//
// What has been run is one row of the store beside the leases, "run:KEY", and its clock decides.  A tick is
// named by the moment it begins, so that one may be given another length later.
#pragma once
#include "cli/run/wait_for_lease.h"
#include "cli/words/command_line.h"
#include "holdfast/client.h"

namespace holdfast::cli {

// For RunRequest::admit; none if no turn is asked for.  Errc::busy: it is not its turn.  Of an `implicit`
// store it says that other hosts do not know it: once, when that key has its first turn there.
std::function<Status(const Client&, const Lease&)> admission(const RunCondition& turn, bool implicit);

// For --every, while the lease is held.  Says so if it cannot, or if the store has not `confirmed` just now
// that it is: a success that is written down keeps others from their turn.
void note_success(const Client& client, const Lease& lease, Status confirmed);

}  // namespace holdfast::cli
