// SPDX-License-Identifier: Apache-2.0
// commands.cpp - the specs that are no commands by themselves: the program, and the group of jobs.
#include "cli/commands.h"

#include "cli/words/values.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec global_options[] = {
    {"-h,--help", "", "show this page"},
    {"--version", "", "show the version"},
    {"--verbose", "", "also show the stores and libraries"},
    {"--store", "URL", "the store: a URL such as {}, a configured name, or @FILE", nullptr,
     [] { return std::string(default_store().url); }},
    {"--json", "", "answer with one JSON object per line"},
    {"--quiet", "", "do not warn about how the store is set up"},
};

std::string urls_of_stores() {
  std::string text;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place != StorePlace::process) text += (text.empty() ? "" : ", ") + std::string(store.url);
  }
  return text;
}

}  // namespace

constinit const CommandSpec commands::program{
    .name = "",
    .usage = "[OPTION]... COMMAND ...",
    .purpose = "Let one of many processes at a time do a thing, by leases in your database",
    .options = global_options,
    .more =
        R"(The store is that of --store, else of HOLDFAST_STORE, else of the configuration, else a file in your home. Give it as
a URL ({}),
as a name from the configuration, or as @FILE, if the first line of FILE is the URL. Write durations as 250ms, 30s, 5m,
1.5h or 2d. Where it matters, let the resource that a lease protects refuse older tokens.

  holdfast run nightly -- ./backup.sh
  holdfast help run)",
    .filled_in = urls_of_stores,
    .read = [](const Given&) -> Action { refuse("no command was given; see `holdfast help`"); },
    .takes_quiet = true,
};

constinit const CommandSpec commands::jobs{
    .name = "jobs",
    .usage = "COMMAND ...",
    .purpose = "Store work as jobs, run them, and look at them",
    .more =
        R"(A job has a name, arguments and, if it declares one, a lock, by default on lock:NAME:ARGUMENTS, which is an ordinary
key. A job that fails, or whose worker died, is run again. More: holdfast help jobs COMMAND.

  holdfast jobs enqueue Thumbnail 42 --loner
  holdfast jobs work --exec 'handlers/{name}')",
    .read = [](const Given&) -> Action { refuse("no command of jobs was given; see `holdfast help jobs`"); },
};

}  // namespace holdfast::cli
