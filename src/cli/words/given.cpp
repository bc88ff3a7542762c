// SPDX-License-Identifier: Apache-2.0
#include "cli/words/given.h"

#include <limits>

#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "cli/output.h"
#include "cli/run/schedule.h"
#include "cli/words/choices.h"
#include "cli/words/help.h"
#include "cli/words/nearest.h"
#include "core/check.h"
#include "core/terms.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

Millis ttl_of(const char* option, const Text& given) {
  if (!given) return core::Terms{}.ttl;
  if (*given == "never") return Millis(never);
  const Millis ttl = duration(option, *given);
  if (Status s = core::check_ttl(ttl); !s)
    refuse(std::string(option) + " " + *given + ": " + s.error().detail);
  return ttl;
}

holdfast::Wait wait_of(const Given& given) {
  if (given.no_wait && given.wait)
    refuse("-n and -w " + printable(redacted(*given.wait)) + " exclude each other; give one of them");
  if (given.no_wait) return Millis::zero();
  if (!given.wait || *given.wait == "forever") return forever;
  const Millis wait = duration("-w", *given.wait);
  if (wait == Millis::zero())
    refuse("-w " + *given.wait + " would not wait at all; give -n, or a longer time");
  return wait;
}

int busy_code_of(const Text& given) {
  if (!given) return exit_busy;
  const int code = whole_number<int>(*given).value_or(-1);
  if (code < 0 || code > 255)
    refuse("-E " + shown(*given) + " is not an exit code; give a number from 0 to 255");
  return code;
}

std::string key_of(const Given& given, const char* command) {
  if (!given.key) refuse("KEY is missing; usage: " + usage_of(command));
  core::check_key(*given.key).value();
  return *given.key;
}

std::string owner_of(const Given& given, const char* command) {
  if (!given.owner) refuse("--owner is missing; usage: " + usage_of(command));
  core::check_owner(*given.owner).value();
  return *given.owner;
}

AcquireOptions acquire_options(const Given& given) {
  AcquireOptions options{
      .ttl = ttl_of("--ttl", given.ttl), .wait = wait_of(given), .note = given.note.value_or("")};
  if (given.owner) {
    core::check_owner(*given.owner).value();
    options.owner = *given.owner;
  }
  core::check_terms(core::settle(options, {}), {}).value();
  return options;
}

RunCondition run_condition_of(const Given& given) {
  if (given.tick && given.every)
    refuse("--tick " + printable(redacted(*given.tick)) + " and --every " +
           printable(redacted(*given.every)) + " exclude each other; give one of them");
  return {.tick = given.tick ? some_duration("--tick", *given.tick) : Millis::zero(),
          .every = given.every ? some_duration("--every", *given.every) : Millis::zero()};
}

OnLost on_lost_of(const Given& given, std::string& program) {
  const std::string what = given.on_lost.value_or("term");
  constexpr std::string_view exec = "exec:";
  if (what == "term") return OnLost::term;
  if (what == "kill") return OnLost::kill;
  if (what == "ignore") return OnLost::ignore;
  if (!what.starts_with(exec))
    refuse("--on-lost " + shown(what) + " is invalid" + suggestion(what, choices_of("--on-lost")) +
           "give term, kill, ignore or exec:PROGRAM");
  program = what.substr(exec.size());
  if (program.empty()) refuse("--on-lost exec: names no program; give exec:PROGRAM");
  return OnLost::exec;
}

Ending ending_of(const Given& given) {
  Ending ending;
  ending.on_lost = on_lost_of(given, ending.program);
  // "auto" and "forever" undo what a configuration sets.
  if (given.kill_after && *given.kill_after != "auto")
    ending.kill_after = duration("--kill-after", *given.kill_after);
  if (given.at_least) ending.at_least = duration("--at-least", *given.at_least);
  if (given.at_most && *given.at_most != "forever")
    ending.at_most = some_duration("--at-most", *given.at_most);
  ending.at_most_from = given.at_most_from;
  return ending;
}

Command run_command(const Given& given, Words cmd) {
  Run run{key_of(given, "run"),    acquire_options(given), busy_code_of(given.busy_code),
          run_condition_of(given), ending_of(given),       std::move(cmd)};
  if (run.options.ttl == never)
    refuse("--ttl never is not for run: if this host died, its lease would never end; give a duration");
  const Millis ttl = core::settle(run.options, {}).ttl;
  if (run.ending.kill_after.value_or(Millis::zero()) > Schedule::longest_grace(ttl))
    refuse("--kill-after " + shown(*given.kill_after) + " is too long for a lease of " +
           format_duration(ttl) + "; give at most " + format_duration(Schedule::longest_grace(ttl)) +
           ", a third of --ttl");
  if (run.command.empty())
    refuse("CMD is missing after the key " + shown(run.key) + "; usage: " + usage_of("run"));
  if (run.command.front().empty()) refuse("CMD is empty; give the name of a program");
  return run;
}

Command acquire_command(const Given& given) {
  Acquire acquire{key_of(given, "acquire"), acquire_options(given)};
  acquire.options.detached = true;
  return acquire;
}

Command renew_command(const Given& given) {
  if (given.ttl && given.by) {
    refuse("--ttl " + printable(redacted(*given.ttl)) + " and --by " + printable(redacted(*given.by)) +
           " exclude each other; give one of them");
  }
  if (given.by && *given.by == "never") refuse("--by cannot be never; give --ttl never");
  const Millis ttl = given.by ? ttl_of("--by", given.by) : ttl_of("--ttl", given.ttl);
  return Renew{key_of(given, "renew"), owner_of(given, "renew"), ttl, given.by.has_value()};
}

Millis interval_of(const Given& given) {
  constexpr Millis shortest(100);
  if (!given.interval) return std::chrono::seconds(1);
  const Millis interval = duration("--interval", *given.interval);
  if (interval < shortest)
    refuse("--interval " + printable(*given.interval) + " would ask the store too often; give 100ms or more");
  return interval;
}

Ls ls_command(const Given& given) {
  constexpr std::pair<std::string_view, Ls::Sort> sorts[] = {{"key", Ls::Sort::key},
                                                             {"since", Ls::Sort::since},
                                                             {"remaining", Ls::Sort::remaining},
                                                             {"waiting", Ls::Sort::waiting}};
  if (given.prefix && given.prefix_option && *given.prefix != *given.prefix_option)
    refuse("--prefix " + shown(*given.prefix_option) + " and " + shown(*given.prefix) +
           " differ; give one of them");
  Ls ls{.prefix = given.prefix_option.value_or(given.prefix.value_or("")),
        .held = given.held,
        .all = given.all};
  if (given.watch || given.interval) ls.watch = interval_of(given);
  if (ls.all && (ls.held || ls.watch))
    refuse("--all cannot be combined with --held or --watch; leave it out");
  if (!given.sort) return ls;
  for (const auto& [name, sort] : sorts) {
    if (name != *given.sort) continue;
    ls.sort = sort;
    return ls;
  }
  const std::vector<std::string> known = choices_of("--sort");
  refuse("--sort " + shown(*given.sort) + " is not a sort order" + suggestion(*given.sort, known) + "give " +
         one_of_these(known));
}

Token token_of(const char* option, const std::string& given, const char* where) {
  const auto token = whole_number<std::uint64_t>(given);
  if (!token || *token == 0 || *token > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    refuse(option + shown(given) + " is not a token; give the number that " + where);
  return Token{*token};
}

Break break_command(const Given& given) {
  Break command{key_of(given, "break"), {}, given.reason.value_or("")};
  if (!given.token)
    refuse("--token is missing; `holdfast show " + printable(command.key) +
           "` shows the token of the lease that is held now");
  command.token = token_of("--token ", *given.token, "`holdfast show` shows");
  if (command.reason.empty())
    refuse("--reason is missing; say why you break the lease: the holder will see it");
  core::check_words(command.reason, "the reason").value();
  return command;
}

Command fence_command(const Given& given, Words cmd) {
  if (given.code) {
    const bool is_word = given.code->find(':') == std::string::npos;
    const StoreDescriptor* const store = is_word ? descriptor_of(*given.code + ":") : nullptr;
    if (store == nullptr || store->fence.empty())
      refuse("--code " + shown(*given.code) + " is unknown" + suggestion(*given.code, choices_of("--code")) +
             "give " + one_of_these(choices_of("--code")));
    if (given.file)
      refuse("--code " + *given.code + " prints a check and runs nothing; leave out " + shown(*given.file));
    return Help{std::string(store->fence)};
  }
  if (!given.token)
    refuse((given.file ? "TOKEN is missing; usage: " : "FILE and TOKEN are missing; usage: ") +
           usage_of("fence"));
  Fence fence{*given.file, token_of("TOKEN ", *given.token, "came with the grant, as $HOLDFAST_TOKEN"),
              wait_of(given), std::move(cmd)};
  if (fence.file.empty()) refuse("FILE is empty; give the path of the file to fence");
  if (fence.command.empty()) refuse("CMD is missing; usage: " + usage_of("fence"));
  if (fence.command.front().empty()) refuse("CMD is empty; give the name of a program");
  return fence;
}

Purge purge_command(const Given& given) {
  if (!given.older_than) return {};
  return {duration("--older-than", *given.older_than)};
}

}  // namespace

Millis duration(const char* option, const std::string& given) {
  auto parsed = parse_duration(given);
  // The word may have been meant for another option, as the URL of a store.
  if (!parsed) refuse(std::string(option) + ": " + parse_duration(redacted(given)).error().detail);
  return *parsed;
}

Millis some_duration(const char* option, const std::string& given) {
  const Millis length = duration(option, given);
  if (length == Millis::zero())
    refuse(std::string(option) + " " + printable(given) + " is too short; give a longer time");
  return length;
}

void refuse(std::string sentence) { throw_failure({Errc::invalid, std::move(sentence)}); }

std::string shown(const std::string& word) { return "\"" + printable(redacted(word)) + "\""; }

Command command_from(const std::string& name, const Given& given, Words words) {
  if (name == "version" || given.version) return Version{given.verbose};
  if (name == "run") return run_command(given, std::move(words));
  if (name == "acquire") return acquire_command(given);
  if (name == "renew") return renew_command(given);
  if (name == "release") return Release{key_of(given, "release"), owner_of(given, "release")};
  if (name == "show") return Show{key_of(given, "show")};
  if (name == "ls") return ls_command(given);
  if (name == "watch") return Watch{given.prefix.value_or(""), interval_of(given)};
  if (name == "top") return Top{given.prefix.value_or(""), interval_of(given)};
  if (name == "doctor") return Doctor{given.quick, given.strict, ttl_of("--ttl", given.ttl)};
  if (name == "config") return Config{given.key ? key_of(given, "config") : ""};
  if (name == "fence") return fence_command(given, std::move(words));
  if (name == "wait") return Wait{key_of(given, "wait"), wait_of(given)};
  if (name == "break") return break_command(given);
  if (name == "purge") return purge_command(given);
  if (name == "init") return Init{given.dry_run};
  if (name.starts_with("jobs") || name == "explain") return jobs_command_from(name, given, words);
  refuse("no command was given; see `holdfast help`");
}

void check_setting(const Setting& setting, const std::string& text) {
  if (setting.into == nullptr) return;
  Given given;
  given.key = "any";
  given.*setting.into = text;
  try {
    // Checked against the longest ttl: the ttl that it will be used with is not known here.
    if (setting.into == &Given::kill_after) given.ttl = "36525d";
    (void)command_from("run", given, {"any"});
  } catch (const Failure& failure) {
    const std::string name(setting.name);
    const std::string& why = failure.error().detail;
    const bool named = why.starts_with("--" + name);
    refuse(named ? why.substr(2) : name + ": " + why);
  }
}

}  // namespace holdfast::cli
