// SPDX-License-Identifier: Apache-2.0
#include "cli/words/help.h"

#include "cli/words/choices.h"
#include "cli/words/completions.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

struct Page {
  std::string_view command;
  std::string_view words;
  std::string_view purpose;
  std::string_view more;
};

// In the order in which they are listed.
constexpr Page pages[] = {
    {"run", "[OPTION]... KEY [--] CMD [ARG]...", "Run CMD while holding KEY",
     R"(Without -n and -w it waits forever for a busy key, but only 10 s for a store that cannot be reached.
The first word after KEY that is not an option is CMD, and everything after it belongs to CMD. CMD finds
HOLDFAST_KEY, _TOKEN, _OWNER, _DEADLINE and _STORE in its environment. If the lease is lost, CMD's process group is
ended in time.

Exit code: CMD's own, or 128+N if signal N killed it; 75 busy, 76 lease lost, 69 store unreachable,
64 usage error, 77 refused, 124 longer than --at-most, 126 CMD cannot be run, 127 CMD not found.

  holdfast run nightly -- ./backup.sh
  holdfast run -n -E 0 --tick 15m mirror -- ./mirror.sh)"},
    {"acquire", "[OPTION]... KEY", "Acquire KEY and keep it, for scripts",
     R"(Prints owner and token. The lease is detached: it lasts until it is released or its ttl has passed, even if this
process ends; with --ttl never, until it is released. Without -n and -w it waits forever for a busy key, but only 10 s
for a store that cannot be reached.

  holdfast acquire deploy --owner "$USER" --ttl 10m -w 30s
  holdfast acquire maintenance --owner ops --ttl never -n)"},
    {"renew", "[OPTION]... KEY --owner OWNER", "Make a lease last longer",
     R"(Exit code 76 if OWNER does not hold KEY any more.

  holdfast renew deploy --owner "$USER" --by 5m
  holdfast renew deploy --owner "$USER" --ttl 1h)"},
    {"release", "[OPTION]... KEY --owner OWNER", "Release a lease",
     R"(Exit code 0 if KEY was held, was already released or had expired; 76 if somebody else was granted it since, if an
operator broke the lease, or if OWNER never held it.

  holdfast release deploy --owner "$USER"
  holdfast release maintenance --owner ops --json)"},
    {"show", "[OPTION]... KEY", "Show who holds KEY, who waits for it and who lost it",
     R"(  holdfast show nightly
  holdfast show nightly --json)"},
    {"ls", "[OPTION]... [PREFIX]", "List the keys that are held or waited for",
     R"(  holdfast ls nightly/ --sort since
  holdfast ls --held --watch)"},
    {"watch", "[OPTION]... [PREFIX]", "Show what happens to keys, one line for each event",
     R"(Runs until Ctrl-C. It asks the store once per interval and may miss what lasts shorter. It does not miss
take-overs and breaks: the store records them.

  holdfast watch nightly/
  holdfast watch --json | jq -r 'select(.event == "broken")')"},
    {"top", "[OPTION]... [PREFIX]", "Show keys, holders and waiters on the whole screen",
     R"(  holdfast top
  holdfast top nightly/ --interval 5s)"},
    {"wait", "[OPTION]... KEY", "Wait until nobody holds KEY, without acquiring it",
     R"(Exit code 75 if KEY is still held when the time is over.

  holdfast wait nightly -w 1h && ./report.sh
  holdfast wait nightly -n || echo "it still runs")"},
    {"break", "[OPTION]... KEY --token TOKEN --reason TEXT", "Take a lease away from its holder",
     R"(Only if KEY is still held with TOKEN; otherwise nothing is changed, and the exit code is 76. The store records who
did it and why, and the holder learns of it at its next renewal, after at most a third of its ttl. Until then the holder
continues, and somebody else may be granted KEY. If there is time, stop the process instead.

  holdfast show nightly
  holdfast break nightly --token 1763193600000000 --reason "its host is gone")"},
    {"purge", "[OPTION]...", "Remove keys that nobody has used for long",
     R"(Holdfast also does this by itself from time to time, for keys that have been free for a day. If a removed key is
used again, its tokens still rise.

  holdfast purge
  holdfast purge --older-than 30d)"},
    {"init", "[OPTION]...", "Create the tables, or print how",
     R"(@TABLES@If the table is one of Ruby's locker, what is missing is added, and locker can still use it.

  holdfast --store prod init --dry-run
  holdfast --store prod init)"},
    {"doctor", "[OPTION]...", "Show what can break a lease in this store, and what to change",
     R"(Exit code: 0 all is well, 1 warnings, 77 unsafe, 69 the store cannot be reached.

  holdfast doctor
  holdfast --store prod doctor --strict)"},
    {"config", "[KEY]", "Show the configuration, and which file sets what",
     R"(Reads ~/.config/holdfast/config.toml (in $XDG_CONFIG_HOME), then /etc/holdfast/config.toml; passwords are not shown.
With KEY: what `run KEY` would use. This is decided for each value on its own: the user's file wins over the machine's.
Within a file, the longest matching prefix of KEY wins.

  holdfast config
  holdfast config nightly/backup)"},
    {"fence", "[OPTION]... FILE TOKEN [--] CMD [ARG]...",
     "Run CMD on FILE, unless FILE has seen a larger token",
     R"(The largest token that FILE has seen is kept beside it, in .FILE.fence. An equal token passes; a larger one is recorded
before CMD starts. No other CMD starts until this one has ended, with everything that it left running.

Exit code: CMD's own; 76 if FILE has seen a larger token (CMD is not run); 75 if another CMD still runs.

  holdfast fence report.csv "$HOLDFAST_TOKEN" -- ./write report.csv
  holdfast fence --code @CODE@)"},
    {"jobs", "COMMAND ...", "Store work as jobs, run them, and look at them",
     R"(A job has a name, arguments and, if it declares one, a lock, by default on lock:NAME:ARGUMENTS, which is an ordinary
key. A job that fails, or whose worker died, is run again. More: holdfast help jobs COMMAND.

  holdfast jobs enqueue Thumbnail 42 --loner
  holdfast jobs work --exec 'handlers/{name}')"},
    {"jobs enqueue", "NAME [ARG]... [OPTION]...", "Add a job",
     R"(An ARG that is a JSON number, true, false, null, a list, an object or a quoted string is taken as JSON; any other ARG is
a string. Options may stand anywhere before --. Prints the number of the job. Without a lock every copy of it runs.

Exit code: 0 enqueued; 10 not enqueued, because another job with its key exists (its number is printed); 75 not
enqueued, because somebody other than a job holds the lock of a loner.

  holdfast jobs enqueue Thumbnail 42 large --loner --lock-timeout 10m
  holdfast jobs enqueue Report '{"of": "sales"}' --key report --in 1h)"},
    {"jobs work", "--exec PROGRAM [OPTION]...", "Run jobs, each with a program",
     R"(PROGRAM runs without a shell, in a process group of its own. Its stdin is the arguments as one JSON array, and its
environment has HOLDFAST_JOB, HOLDFAST_NAME, HOLDFAST_ATTEMPT, HOLDFAST_KEY, HOLDFAST_TOKEN and HOLDFAST_OWNER. The job
is done if PROGRAM exits with 0, and has failed otherwise. A job whose name is not a plain file name fails. When a job
is cancelled or lost, the group gets TERM, then KILL; when the worker is killed, KILL.

On INT or TERM the worker starts no more jobs. Running jobs continue for --grace; then they are stopped and handed back
to the queue. A second signal stops them at once. With --json, events go to stdout, and what programs print goes to stderr.

  holdfast jobs work --exec 'handlers/{name}' --queue default --queue slow
  holdfast jobs work --exec /opt/app/run-job --threads 1 --once)"},
    {"jobs ls", "[OPTION]...", "List jobs, the newest first",
     R"(  holdfast jobs ls --state dead
  holdfast jobs ls --name Thumbnail --limit 20)"},
    {"jobs show", "ID [OPTION]...", "Show all about a job, and what blocks it",
     R"(  holdfast jobs show 7
  holdfast jobs show 7 --json)"},
    {"jobs retry", "ID...", "Queue jobs again that are over",
     R"(For jobs that are dead, dropped, cancelled or done: they are due now, and have all their attempts again. Exit code 64 if
a job is in another state.

  holdfast jobs retry 7
  holdfast jobs retry 7 8 9)"},
    {"jobs cancel", "ID...", "Cancel jobs that are queued, running or dead",
     R"(The program of a running job is stopped at its worker's next renewal, after at most a third of the claim.

  holdfast jobs cancel 7
  holdfast jobs cancel 7 8 9)"},
    {"jobs rm", "ID...", "Remove jobs that are not running",
     R"(  holdfast jobs rm 7
  holdfast jobs rm 7 8 9)"},
    {"jobs locked", "NAME [ARG]... | --key KEY", "Show who holds the lock of a job",
     R"(Exit code 0 if somebody holds it (the holder is printed), 1 if nobody does.

  holdfast jobs locked Thumbnail 42 || echo "nobody holds it"
  holdfast jobs locked --key report)"},
    {"jobs enqueued", "NAME [ARG]... | --key KEY", "Show whether a job is queued",
     R"(Exit code 0 if one is queued (its number is printed), 1 if none is.

  holdfast jobs enqueued Thumbnail 42
  holdfast jobs enqueued --key report)"},
    {"explain", "KEY|JOB", "Show what happened to a key or a job, in order",
     R"(JOB is the number of a job, or job:NUMBER. The answer says who enqueued, started, failed or dropped a job, and why; who
lost the lease, to whom and why; who holds it now and who waits.

  holdfast explain nightly
  holdfast explain 7)"},
    {"completions", "bash|zsh|fish", "Print a script that completes commands in a shell",
     R"(To try it in one zsh or bash: source <(holdfast completions SHELL). To complete a KEY, the shell asks
the store.

  holdfast completions bash > /etc/bash_completion.d/holdfast
  holdfast completions fish > ~/.config/fish/completions/holdfast.fish)"},
    {"version", "[OPTION]...", "Show the version of Holdfast",
     R"(--verbose loads the drivers of all stores, to ask for their versions.

  holdfast version
  holdfast version --verbose --json)"},
    {"help", "[COMMAND [SUBCOMMAND]]", "Show this page, or the page of a command",
     R"(  holdfast help jobs work
  holdfast help --man run | man -l -)"},
};

constexpr std::string_view program_purpose =
    "Let one of many processes at a time do a thing, by leases in your database";

constexpr std::string_view program_text =
    R"(The store is that of --store, else of HOLDFAST_STORE, else of the configuration, else a file in your home. Give it as
a URL (@URLS@),
as a name from the configuration, or as @FILE, if the first line of FILE is the URL. Write durations as 250ms, 30s, 5m,
1.5h or 2d. Where it matters, let the resource that a lease protects refuse older tokens.

  holdfast run nightly -- ./backup.sh
  holdfast help run)";

std::string urls_of_stores() {
  std::string text;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place != StorePlace::process) text += (text.empty() ? "" : ", ") + std::string(store.url);
  }
  return text;
}

// "ONE, TWO and THREE": those whose tables come to exist in that way.
std::string databases_with(StoreTables tables) {
  std::vector<std::string> titles;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.tables == tables && store.place != StorePlace::process)
      titles.insert(titles.end(), store.titles.begin(), store.titles.end());
  }
  std::string text;
  for (std::size_t i = 0; i < titles.size(); ++i)
    text += (i == 0 ? "" : i + 1 == titles.size() ? " and " : ", ") + titles[i];
  return text;
}

std::string about_tables() {
  std::string text =
      "On " + databases_with(StoreTables::at_first_use) + " the tables are created at the first use";
  if (const std::string none = databases_with(StoreTables::none); !none.empty())
    text += "; on " + none + " there are none";
  text += ". ";
  if (const std::string by_init = databases_with(StoreTables::by_init); !by_init.empty())
    text += "On " + by_init + ", somebody who may create tables runs this once. ";
  return text;
}

const Page* find(std::string_view command) {
  for (const Page& page : pages) {
    if (page.command == command) return &page;
  }
  return nullptr;
}

}  // namespace

std::string_view purpose_of(std::string_view command) {
  const Page* const page = find(command);
  return page != nullptr ? page->purpose : program_purpose;
}

std::string more_of(std::string_view command) {
  const Page* const page = find(command);
  std::string text(page != nullptr ? page->more : program_text);
  if (page == nullptr) return replaced(std::move(text), "@URLS@", urls_of_stores());
  if (command == "init") return replaced(std::move(text), "@TABLES@", about_tables());
  return replaced(std::move(text), "@CODE@", choices_of("--code").back());
}

std::string usage_of(std::string_view command) {
  const Page* const page = find(command);
  std::string usage = "holdfast " + std::string(page != nullptr ? page->command : "[OPTION]... COMMAND ...");
  if (page != nullptr && !page->words.empty()) usage += " " + std::string(page->words);
  return usage;
}

}  // namespace holdfast::cli
