// SPDX-License-Identifier: Apache-2.0
// prelude.h - what the fragments in the documents take for granted.  They are compiled, not run, so nothing
// here has a body.  Only what a reader guesses from its name belongs here.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "holdfast/holdfast.h"

// The whole programs show where 30s comes from.
using namespace std::chrono_literals;

// "A client", "a lease": the first page shows how to get one, the others what it can do.
extern holdfast::Client client;
extern holdfast::Lease lease;

// The reader's own business: what the lease protects, and what is done when there is nothing to do.
bool work_is_left();
void do_some_work();
void do_some_work(std::stop_token);
void write_result(holdfast::Token);
int build_report(holdfast::Token);
void skip();
void use(holdfast::Lease&);
void log_line(const std::string&);
