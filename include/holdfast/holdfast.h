// SPDX-License-Identifier: Apache-2.0
// holdfast.h - all that a program needs to use leases and jobs.
//
// Not here: a store that is opened without a URL, and jobs in a transaction of your own (sqlite.h,
// postgres.h, redis.h, mongodb.h, mariadb.h, memory.h); and what the author of a store needs (spi/).
#pragma once
#include "holdfast/admin.h"
#include "holdfast/client.h"
#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/fence.h"
#include "holdfast/job.h"
#include "holdfast/job_args.h"
#include "holdfast/job_rows.h"
#include "holdfast/job_type.h"
#include "holdfast/job_worker.h"
#include "holdfast/jobs.h"
#include "holdfast/lease.h"
#include "holdfast/lock.h"
#include "holdfast/observer.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"
#include "holdfast/version.h"
