// SPDX-License-Identifier: Apache-2.0
#include "cli/given.h"

#include <charconv>

#include "base/duration.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/help.h"
#include "core/check.h"

namespace holdfast::cli {
namespace {

Millis duration(const char* option, const std::string& given) {
  auto parsed = parse_duration(given);
  if (!parsed) refuse(std::string(option) + ": " + parsed.error().detail);
  return *parsed;
}

Millis ttl_of(const char* option, const Text& given) {
  if (!given) return AcquireOptions{}.ttl;
  const Millis ttl = duration(option, *given);
  if (Status s = core::check_ttl(ttl); !s)
    refuse(std::string(option) + " " + *given + ": " + s.error().detail);
  return ttl;
}

Millis wait_of(const Given& given) {
  if (given.no_wait && given.wait)
    refuse("-n and -w " + printable(redacted(*given.wait)) + " exclude each other: give one of them");
  if (given.no_wait) return Millis::zero();
  if (!given.wait) return forever;
  const Millis wait = duration("-w", *given.wait);
  if (wait == Millis::zero()) refuse("-w " + *given.wait + " waits for nothing: give -n, or a longer time");
  return wait;
}

int busy_code_of(const Text& given) {
  if (!given) return exit_busy;
  int code = -1;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), code);
  const bool whole = error == std::errc{} && end == given->data() + given->size();
  if (!whole || code < 0 || code > 255)
    refuse("-E " + shown(*given) + " is no exit code: give a number from 0 to 255");
  return code;
}

std::string key_of(const Given& given, const char* command) {
  if (!given.key) refuse("KEY is missing: " + usage_of(command));
  core::check_key(*given.key).value();
  return *given.key;
}

std::string owner_of(const Given& given, const char* command) {
  if (!given.owner) refuse("--owner is missing: " + usage_of(command));
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
  core::check_options(options, {}).value();
  return options;
}

Command run_command(const Given& given, Words cmd) {
  Run run{key_of(given, "run"), acquire_options(given), busy_code_of(given.busy_code), std::move(cmd)};
  if (run.command.empty()) refuse("CMD is missing behind the key " + shown(run.key) + ": " + usage_of("run"));
  if (run.command.front().empty()) refuse("CMD is \"\": give the name of a program");
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
           " exclude each other: give one of them");
  }
  const Millis ttl = given.by ? ttl_of("--by", given.by) : ttl_of("--ttl", given.ttl);
  return Renew{key_of(given, "renew"), owner_of(given, "renew"), ttl, given.by.has_value()};
}

}  // namespace

void refuse(std::string sentence) { raise({Errc::invalid, std::move(sentence)}); }

std::string shown(const std::string& word) { return "\"" + printable(redacted(word)) + "\""; }

Command command_from(const std::string& name, const Given& given, Words cmd) {
  if (name == "run") return run_command(given, std::move(cmd));
  if (name == "acquire") return acquire_command(given);
  if (name == "renew") return renew_command(given);
  if (name == "release") return Release{key_of(given, "release"), owner_of(given, "release")};
  if (name == "show") return Show{key_of(given, "show")};
  if (name == "ls") return Ls{given.prefix.value_or("")};
  if (name == "version" || given.version) return Version{};
  refuse("no command is given: holdfast help lists them");
}

}  // namespace holdfast::cli
