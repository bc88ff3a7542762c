// SPDX-License-Identifier: Apache-2.0
// commands.h - the table of all commands.  Each is defined in its own file.
#pragma once
#include "cli/words/spec.h"

namespace holdfast::cli {

namespace commands {
extern const CommandSpec program;  // `holdfast` itself, with the global options
extern const CommandSpec run, acquire, renew, release, show, ls, watch, top, wait, break_lease, purge, init,
    doctor, config, fence;
extern const CommandSpec jobs, jobs_enqueue, jobs_work, jobs_ls, jobs_show, jobs_retry, jobs_cancel, jobs_rm,
    jobs_locked, jobs_enqueued;
extern const CommandSpec explain, completions, version, help, complete;
}  // namespace commands

// In the order in which they are listed.
inline constexpr const CommandSpec* all_commands[] = {
    &commands::program,     &commands::run,           &commands::acquire,     &commands::renew,
    &commands::release,     &commands::show,          &commands::ls,          &commands::watch,
    &commands::top,         &commands::wait,          &commands::break_lease, &commands::purge,
    &commands::init,        &commands::doctor,        &commands::config,      &commands::fence,
    &commands::jobs,        &commands::jobs_enqueue,  &commands::jobs_work,   &commands::jobs_ls,
    &commands::jobs_show,   &commands::jobs_retry,    &commands::jobs_cancel, &commands::jobs_rm,
    &commands::jobs_locked, &commands::jobs_enqueued, &commands::explain,     &commands::completions,
    &commands::version,     &commands::help,          &commands::complete,
};

}  // namespace holdfast::cli
