// SPDX-License-Identifier: Apache-2.0
#include "cli/words/help.h"

#include "cli/words/layout.h"

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
     R"(Waits for the key for ever unless -n or -w; a store that cannot be reached is tried for 10 s.
The first word behind KEY that is no option is CMD, and all behind it is CMD's. It finds
HOLDFAST_KEY, _TOKEN, _OWNER, _DEADLINE and _STORE in its environment. If the lease is lost, its process group is ended in time.

Exit code: CMD's own, 128+N if it died of signal N; 75 busy, 76 lease lost, 69 store unreachable,
64 usage, 77 refused, 124 longer than --at-most, 126 and 127 CMD cannot be run or is not there.

  holdfast run nightly -- ./backup.sh
  holdfast run -n -E 0 --tick 15m mirror -- ./mirror.sh)"},
    {"acquire", "[OPTION]... KEY", "Take KEY and leave it taken, for scripts",
     R"(Prints owner and token. The lease is detached: it lives until released or until its ttl has passed,
whatever becomes of the process that took it; --ttl never: until released. Waits for the key for ever unless -n or -w;
a store that cannot be reached is tried for 10 s.

  holdfast acquire deploy --owner "$USER" --ttl 10m -w 30s
  holdfast acquire maintenance --owner ops --ttl never -n)"},
    {"renew", "[OPTION]... KEY --owner OWNER", "Let a lease last longer",
     R"(Exit code 76 if OWNER does not hold KEY any more.

  holdfast renew deploy --owner "$USER" --by 5m
  holdfast renew deploy --owner "$USER" --ttl 1h)"},
    {"release", "[OPTION]... KEY --owner OWNER", "Give a lease back",
     R"(Exit code 0 if KEY was held, had been released before or had run out; 76 if somebody else was granted it
meanwhile, or OWNER never had it.

  holdfast release deploy --owner "$USER"
  holdfast release maintenance --owner ops --json)"},
    {"show", "[OPTION]... KEY", "Who holds KEY, who waits for it, who lost it", R"(  holdfast show nightly
  holdfast show nightly --json)"},
    {"ls", "[OPTION]... [PREFIX]", "Which keys are held", R"(  holdfast ls nightly/ --sort since
  holdfast ls --held --watch)"},
    {"watch", "[OPTION]... [PREFIX]", "Tell what happens to keys, a line for each event",
     R"(Until Ctrl-C. What lasted shorter than the interval between two looks may be missed; take-overs and breaks are
written down by the store and are not.

  holdfast watch nightly/
  holdfast watch --json | jq -r 'select(.event == "broken")')"},
    {"top", "[OPTION]... [PREFIX]", "Keys, holders and waiters on the whole screen",
     R"(  holdfast top
  holdfast top nightly/ --interval 5s)"},
    {"wait", "[OPTION]... KEY", "Wait until nobody holds KEY, and take nothing",
     R"(Exit code 75 if it is still held when the time is over.

  holdfast wait nightly -w 1h && ./report.sh
  holdfast wait nightly -n || echo "it still runs")"},
    {"break", "[OPTION]... KEY --token TOKEN --reason TEXT", "Take a lease away from whoever holds it",
     R"(Only if TOKEN holds KEY in that moment; exit code 76, and nothing is changed, if not. Who did it and why
is written down, and told to the holder at its next renewal: until then, a third of its ttl at most, it works
on, and somebody else may be granted KEY meanwhile. Better, where there is time: end the process.

  holdfast show nightly
  holdfast break nightly --token 1763193600000000 --reason "its host is gone")"},
    {"purge", "[OPTION]...", "Forget keys that nobody has used for long",
     R"(Stores do so by themselves now and then for what has been free for a day. A key's next token rises all the
same.

  holdfast purge
  holdfast purge --older-than 30d)"},
    {"init", "[OPTION]...", "Make the tables, or say how",
     R"(The embedded store makes its own when it is first used; Redis and MongoDB have none. On PostgreSQL, MariaDB and
MySQL this is done once, by somebody who may create tables; a table of Ruby's locker is completed and stays of
use to it.

  holdfast --store postgres://admin@db/app init --dry-run
  holdfast --store postgres://admin@db/app init)"},
    {"doctor", "[OPTION]...", "What can break a lease in this store, and what to change",
     R"(Exit code 0 all is well, 1 with warnings, 77 unsafe; 69 if the store cannot be reached.

  holdfast doctor
  holdfast --store redis://cache.example.org doctor --strict)"},
    {"config", "[KEY]", "What the configuration says, and where it stands",
     R"(Of ~/.config/holdfast/config.toml (in $XDG_CONFIG_HOME), then /etc/holdfast/config.toml; passwords are not shown.
With KEY: what `run KEY` would use. A value is looked up by itself: the user's file before the machine's, in each
the longest prefix of KEY first.

  holdfast config
  holdfast config nightly/backup)"},
    {"fence", "[OPTION]... FILE TOKEN [--] CMD [ARG]...", "Run CMD on FILE, unless a younger token was there",
     R"(The largest token that FILE has seen stands beside it, in .FILE.fence. An equal one passes, a larger one is written
down before CMD starts, and nobody else's CMD starts until this one has ended, with all that it left running.

Exit code: CMD's own; 76 if FILE has seen a younger token, and CMD is not run; 75 if another's CMD still runs.

  holdfast fence report.csv "$HOLDFAST_TOKEN" -- ./write report.csv
  holdfast fence --code postgres)"},
    {"jobs", "COMMAND ...", "Work that is done once: enqueue it, do it, look at it",
     R"(A job has a name, arguments and, if it declares one, a lock: by default lock:NAME:ARGUMENTS, an ordinary key, which
run and show know too. One that fails, or whose worker died, is tried again. More: holdfast help jobs COMMAND.

  holdfast jobs enqueue Thumbnail 42 --loner
  holdfast jobs work --exec 'handlers/{name}')"},
    {"jobs enqueue", "NAME [ARG]... [OPTION]...", "Add a job",
     R"(An ARG that is a JSON number, true, false, null, a list, an object or a quoted string is that; anything else is a
text. Options stand anywhere before --. Prints the number of the job. Without an option of a lock it has none, and
every copy of it runs.

Exit code: 0 it is new, 10 it is not, because another of its key is there (whose number is printed), 75 somebody who
is no job holds the lock of a loner.

  holdfast jobs enqueue Thumbnail 42 large --loner --lock-timeout 10m
  holdfast jobs enqueue Report '{"of": "sales"}' --key report --in 1h)"},
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
    {"completions", "bash|zsh|fish", "What a shell completes our commands with",
     R"(For one shell of zsh or bash: source <(holdfast completions SHELL). For KEY the keys are asked of the store.

  holdfast completions bash > /etc/bash_completion.d/holdfast
  holdfast completions fish > ~/.config/fish/completions/holdfast.fish)"},
    {"version", "[OPTION]...", "Which Holdfast this is",
     R"(--verbose loads the drivers of all stores to ask them, which nothing else does.

  holdfast version
  holdfast version --verbose --json)"},
    {"help", "[COMMAND [SUBCOMMAND]]", "This, or the page of a command",
     R"(  holdfast help jobs work
  holdfast help --man run | man -l -)"},
};

constexpr std::string_view program_purpose =
    "One of many processes at a time, by leases in a database you already run";

constexpr std::string_view program_text =
    R"(The store is --store, else HOLDFAST_STORE, else what the configuration says, else a file in your home. It is given by
a URL (sqlite:PATH, postgres://USER@HOST/DATABASE, redis://HOST, mongodb://HOST/DATABASE, mariadb://USER@HOST/DATABASE),
by a name from the configuration, or by @FILE, if the URL stands in FILE. Durations are written 250ms, 30s, 5m, 1.5h or
2d. Where it matters, let what a lease protects refuse an older token.

  holdfast run nightly -- ./backup.sh
  holdfast help run)";

const Page* find(std::string_view command) {
  for (const Page& page : pages) {
    if (page.command == command) return &page;
  }
  return nullptr;
}

std::string list_of_commands(const CommandEntry& above) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& name : above.commands)
    rows.emplace_back(name, purpose_of(above.name.empty() ? name : above.name + " " + name));
  return rows.empty() ? "" : two_columns(rows) + "\n";
}

std::string list_of_options(const std::vector<OptionEntry>& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionEntry& option : options) rows.emplace_back(written(option), option.does);
  return two_columns(rows);
}

}  // namespace

std::string_view purpose_of(std::string_view command) {
  const Page* const page = find(command);
  return page != nullptr ? page->purpose : program_purpose;
}

std::string_view more_of(std::string_view command) {
  const Page* const page = find(command);
  return page != nullptr ? page->more : program_text;
}

std::string usage_of(std::string_view command) {
  const Page* const page = find(command);
  std::string usage = "holdfast " + std::string(page != nullptr ? page->command : "[OPTION]... COMMAND ...");
  if (page != nullptr && !page->words.empty()) usage += " " + std::string(page->words);
  return usage;
}

std::string written(const OptionEntry& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ",") + name;
  return option.value.empty() ? names : names + " " + option.value;
}

std::string help_text(const Table& table, const CommandEntry& command) {
  std::string text =
      "usage: " + usage_of(command.name) + "\n\n" + std::string(purpose_of(command.name)) + "\n\n";
  text += list_of_commands(command) + list_of_options(options_told(table, command));
  for (const Paragraph& paragraph : paragraphs_of(more_of(command.name)))
    text += "\n" + (paragraph.is_example ? paragraph.text : wrapped(paragraph.text, 0, 0)) + "\n";
  return text;
}

}  // namespace holdfast::cli
