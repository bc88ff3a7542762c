// SPDX-License-Identifier: Apache-2.0
// prelude.h - what the fragments in the documents take for granted.  They are compiled, not run, so nothing
// here has a body.  Only what a reader guesses from its name belongs here.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "holdfast/holdfast.h"
#include "holdfast/memory.h"
#include "holdfast/mongodb.h"
#include "holdfast/postgres.h"
#include "holdfast/sqlite.h"

// The whole programs show where 30s comes from.
using namespace std::chrono_literals;

// "A client", "a lease", "jobs": the first page shows how to get one, the others what it can do.
extern holdfast::Client client;
extern holdfast::Lease lease;
extern holdfast::Jobs jobs;

// The reader's own business: what the lease protects, and what is done when there is nothing to do.
bool work_is_left();
void do_some_work();
void do_some_work(std::stop_token);
void write_result(holdfast::Token);
int build_report(holdfast::Token);
void skip();
void use(holdfast::Lease&);
void log_line(const std::string&);
void heavy_lifting(std::int64_t);
void handle_if_needed();

// Connections of the reader's own, by the names that their drivers give them.
using PGconn = struct pg_conn;
extern PGconn* postgres_connection;
extern struct sqlite3* sqlite_connection;
void run_sql(PGconn*, const char*);
void run_sql(struct sqlite3*, const char*);
