// SPDX-License-Identifier: Apache-2.0
// holdfast.h - everything that a program needs to use leases and jobs.
//
// It does not include the headers for opening a store without a URL and for jobs in your own transaction
// (sqlite.h, postgres.h, redis.h, mongodb.h, mariadb.h, memory.h), nor those for authors of stores (spi/).
#pragma once
#include "holdfast/admin.h"
#include "holdfast/check.h"
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
