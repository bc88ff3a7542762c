// SPDX-License-Identifier: Apache-2.0
// proc.h - who runs on this machine, as /proc has it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::test {

// Not gone, and no zombie.  One whose first thread has ended runs as long as another does.
bool runs(pid_t pid);
// All of its threads are: a stop reaches one after the other.
bool is_stopped(pid_t pid);
// One or all of "State:", "PPid:" … of /proc/PID/status; empty if it is gone.
std::string status_line(pid_t pid, const std::string& name);
// All bytes of /proc/PID/FILE.
std::string proc_file(pid_t pid, const std::string& file);
std::vector<pid_t> children_of(pid_t pid);
// All processes of that session.
std::vector<pid_t> session_of(pid_t leader);
// The guard of a `holdfast run`, 0 if it has none.
pid_t guard_of(pid_t main);
// CMD of a `holdfast run`, 0 before it has exec'ed and after it has ended.
pid_t command_of(pid_t main);

// kill(2) of one process.  False: there is none.  Where guard_of() and its like found nobody and returned 0,
// that would be our own group, with the process that runs the tests: no signal is sent to such a number.
bool send_signal(pid_t pid, int number);
// The same of the group that this process leads.
bool send_signal_to_group(pid_t leader, int number);

// Those that run with HOLDFAST_TEST_MARK=MARK in their environment.
std::vector<pid_t> marked_with(const std::string& mark);
// Those of them that are of a tree of family.cpp.
std::vector<pid_t> family_of(const std::string& mark);

}  // namespace holdfast::test
