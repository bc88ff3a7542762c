// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include "cli/output.h"

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
     R"(Waits for ever unless -n or -w. The first word behind KEY that is no option is CMD, and all behind it is CMD's. It finds
HOLDFAST_KEY, _TOKEN, _OWNER and _DEADLINE in its environment. If the lease is lost, its process group is ended in time.

Exit code: CMD's own, 128+N if it died of signal N; 75 busy, 76 lease lost, 69 store unreachable,
64 usage, 77 refused, 126 and 127 CMD cannot be run or is not there.

  holdfast run nightly -- ./backup.sh
  holdfast run -n -E 0 --tick 15m mirror -- ./mirror.sh)"},
    {"acquire", "[OPTION]... KEY", "Take KEY and leave it taken, for scripts",
     R"(Prints owner and token. The lease is detached: it lives until released or until its ttl has passed,
whatever becomes of the process that took it; --ttl never: until released. Waits for ever unless -n or -w.

  holdfast acquire deploy --owner "$USER" --ttl 10m -w 30s)"},
    {"renew", "[OPTION]... KEY --owner OWNER", "Let a lease last longer",
     R"(Exit code 76 if OWNER does not hold KEY any more.

  holdfast renew deploy --owner "$USER" --by 5m)"},
    {"release", "[OPTION]... KEY --owner OWNER", "Give a lease back",
     R"(Exit code 0 if KEY was held, had been released before or had run out; 76 if somebody else was granted it
meanwhile, or OWNER never had it.

  holdfast release deploy --owner "$USER")"},
    {"show", "[OPTION]... KEY", "Who holds KEY, who waits for it, who lost it", "  holdfast show nightly"},
    {"ls", "[OPTION]... [PREFIX]", "Which keys are held", "  holdfast ls nightly/ --sort since"},
    {"wait", "[OPTION]... KEY", "Wait until nobody holds KEY, and take nothing",
     R"(Exit code 75 if it is still held when the time is over.

  holdfast wait nightly -w 1h && ./report.sh)"},
    {"break", "[OPTION]... KEY --token TOKEN --reason TEXT", "Take a lease away from whoever holds it",
     R"(Only if TOKEN holds KEY in that moment; exit code 76, and nothing is changed, if not. Who did it and why
is written down, and told to the holder at its next renewal: until then, a third of its ttl at most, it works
on, and somebody else may be granted KEY meanwhile. Better, where there is time: end the process.

  holdfast break nightly --token 1763193600000000 --reason "its host is gone")"},
    {"purge", "[OPTION]...", "Forget keys that nobody has used for long",
     R"(Stores do so by themselves now and then for what has been free for a day. A key's next token rises all the
same.

  holdfast purge --older-than 30d)"},
    {"init", "[OPTION]...", "Make the tables, or say how",
     R"(The embedded store makes its own when it is first used; Redis and MongoDB have none. On PostgreSQL, MariaDB and
MySQL this is done once, by somebody who may create tables; a table of Ruby's locker is completed and stays of
use to it.

  holdfast --store postgres://admin@db/app init --dry-run)"},
    {"jobs", "COMMAND ...", "Work that is done once: enqueue it, do it, look at it",
     R"(A job has a name, arguments, and a lock that it runs under: by default lock:NAME:ARGUMENTS, an ordinary key, so
that holdfast run and holdfast show know it too. Jobs are done at least once: one whose worker died is done again.
holdfast help jobs COMMAND tells more.

  holdfast jobs enqueue Thumbnail 42 --loner
  holdfast jobs work --exec 'handlers/{name}')"},
    {"jobs enqueue", "NAME [ARG]... [OPTION]...", "Add a job",
     R"(An ARG that is a JSON number, true, false, null, a list, an object or a quoted string is that; anything else is a
text. Options stand anywhere before --. Prints the number of the job.

Exit code: 0 it is new, 10 it is not, because another of its key is there (whose number is printed), 75 somebody who
is no job holds the lock of a loner.

  holdfast jobs enqueue Thumbnail 42 large --loner --timeout 10m
  holdfast jobs enqueue Report '{"of": "sales"}' --key report --at 2026-11-16T02:00:00Z --queue slow)"},
    {"jobs work", "--exec PROGRAM [OPTION]...", "Do jobs, each by running a program",
     R"(PROGRAM is run without a shell, in a process group of its own: the arguments are one JSON array on its stdin, and
HOLDFAST_JOB, HOLDFAST_NAME, HOLDFAST_ATTEMPT, HOLDFAST_KEY, HOLDFAST_TOKEN and HOLDFAST_OWNER stand in its
environment. A job is done if it ends with 0, and has failed otherwise. A job whose name is no plain file name fails.
When the job is cancelled or lost, the group gets TERM, then KILL; when the worker is killed, KILL.

INT or TERM: no more jobs are begun, those that run are let alone for --grace, then stopped and handed back. Again:
they are stopped at once. With --json what happens is told on stdout, and what programs print goes to stderr.

  holdfast jobs work --exec 'handlers/{name}' --queue default --queue slow
  holdfast jobs work --exec /opt/app/run-job --threads 1 --once)"},
    {"jobs ls", "[OPTION]...", "Which jobs there are, the newest first",
     R"(  holdfast jobs ls --state dead
  holdfast jobs ls --name Thumbnail --limit 20)"},
    {"jobs show", "ID [OPTION]...", "All about a job, and who stands in its way",
     R"(  holdfast jobs show 7
  holdfast jobs show 7 --json)"},
    {"jobs retry", "ID...", "Queue jobs again that are over",
     R"(Dead, dropped, cancelled or done: now, and with all their attempts. Exit code 64 if one is not.

  holdfast jobs retry 7
  holdfast jobs retry 7 8 9)"},
    {"jobs cancel", "ID...", "Take jobs back that are queued, running or dead",
     R"(The program of one that runs is told at its worker's next renewal, a third of the claim at most.

  holdfast jobs cancel 7
  holdfast jobs cancel 7 8 9)"},
    {"jobs rm", "ID...", "Forget jobs that do not run",
     R"(  holdfast jobs rm 7
  holdfast jobs rm 7 8 9)"},
    {"jobs locked", "NAME [ARG]... | --key KEY", "Who holds the lock of a job",
     R"(Exit code 0, and who it is; 1 if nobody does.

  holdfast jobs locked Thumbnail 42 || echo "nobody is at it"
  holdfast jobs locked --key report)"},
    {"jobs enqueued", "NAME [ARG]... | --key KEY", "Whether a job is queued",
     R"(Exit code 0, and its number; 1 if none is.

  holdfast jobs enqueued Thumbnail 42
  holdfast jobs enqueued --key report)"},
    {"explain", "KEY|JOB", "What happened to a key or a job, in order",
     R"(JOB is the number of a job, or job:NUMBER. Who enqueued, started, failed or dropped what, because of whom; who lost
the lease, to whom and why; who holds it now and who waits.

  holdfast explain nightly
  holdfast explain 7)"},
    {"version", "", "Which Holdfast this is", ""},
    {"help", "[COMMAND [SUBCOMMAND]]", "This, or the page of a command", ""},
};

constexpr std::string_view program_text =
    R"(One of many processes at a time, by leases in a database you already run.

The store is --store, else HOLDFAST_STORE, else the file holdfast/leases.db in $XDG_STATE_HOME
(~/.local/state), which is each user's own. It is given by a URL (sqlite:PATH, postgres://USER@HOST/DATABASE,
redis://HOST, mongodb://HOST/DATABASE, mariadb://USER@HOST/DATABASE), or by @FILE, if the URL stands in FILE.
Durations are written 250ms, 30s, 5m, 1.5h or 2d. A lease is a belief with an end: where it matters, let
what it protects refuse an older token.)";

const Page* find(std::string_view command) {
  for (const Page& page : pages) {
    if (page.command == command) return &page;
  }
  return nullptr;
}

std::string indented(Rows rows) {
  for (auto& row : rows) row.front().insert(0, "  ");
  return aligned(rows, false, false) + "\n";
}

std::string listed(const std::vector<OptionLine>& options) {
  Rows rows;
  for (const OptionLine& option : options) rows.push_back({option.names, option.does});
  return indented(std::move(rows));
}

// Those of `above`, without it: of "jobs" those of "jobs …".
std::string list_of_commands(std::string_view above) {
  const std::string prefix = above.empty() ? "" : std::string(above) + " ";
  Rows rows;
  for (const Page& page : pages) {
    if (!page.command.starts_with(prefix)) continue;
    const std::string_view name = page.command.substr(prefix.size());
    if (name.find(' ') == std::string_view::npos)
      rows.push_back({std::string(name), std::string(page.purpose)});
  }
  return rows.empty() ? "" : indented(std::move(rows)) + "\n";
}

}  // namespace

std::string_view purpose_of(std::string_view command) {
  const Page* const page = find(command);
  return page != nullptr ? page->purpose : program_text;
}

std::string usage_of(std::string_view command) {
  const Page* const page = find(command);
  std::string usage = "holdfast " + std::string(page != nullptr ? page->command : "[OPTION]... COMMAND ...");
  if (page != nullptr && !page->words.empty()) usage += " " + std::string(page->words);
  return usage;
}

std::string help_text(std::string_view command, const std::vector<OptionLine>& options) {
  const Page* const page = find(command);
  std::string text = "usage: " + usage_of(command) + "\n\n" + std::string(purpose_of(command)) + "\n\n";
  text += list_of_commands(command);
  text += listed(options);
  if (page != nullptr && !page->more.empty()) text += "\n" + std::string(page->more) + "\n";
  return text;
}

}  // namespace holdfast::cli
