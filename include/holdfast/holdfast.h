// SPDX-License-Identifier: Apache-2.0
// holdfast.h - everything.
#pragma once
#include "holdfast/client.h"
#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lock.h"
#include "holdfast/mariadb.h"
#include "holdfast/memory.h"
#include "holdfast/mongodb.h"
#include "holdfast/operate.h"
#include "holdfast/options.h"
#include "holdfast/postgres.h"
#include "holdfast/redis.h"
#include "holdfast/result.h"
#include "holdfast/sqlite.h"
#include "holdfast/store.h"
#include "holdfast/version.h"
