// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_words.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace holdfast::cli {
namespace {

bool is_inexact(const nlohmann::json& value, const std::string& word) {
  return value.is_number_float() && word.find_first_of(".eE") == std::string::npos;
}

// The word as JSON.
std::string argument(const std::string& word) {
  const nlohmann::json list = nlohmann::json::parse("[" + word + "]", nullptr, false);
  const bool padded = !word.empty() && (word.front() <= ' ' || word.back() <= ' ');
  if (!list.is_array() || list.size() != 1 || padded) {
    if (!is_utf8(word)) refuse("the argument " + shown(word) + " is not valid UTF-8");
    return detail::json::of(std::string_view(word));
  }
  // It would lose digits as a JSON number.
  if (is_inexact(list[0], word))
    refuse("the argument " + shown(word) + " is too large for a number; give it as a string, '\"" +
           printable(word) + "\"'");
  return word;
}

JobId id_of(const std::string& word) {
  const auto number = whole_number<std::uint64_t>(word.starts_with("job:") ? word.substr(4) : word);
  if (!number || *number == 0)
    refuse(shown(word) + " is not the number of a job; `holdfast jobs ls` shows the numbers");
  return JobId{*number};
}

}  // namespace

std::string name_of_job(const Given& given) {
  const Text name = given.word(0);
  if (!name) refuse("NAME is missing; usage: " + usage_of(*given.command));
  if (name->empty()) refuse("the name of the job is empty; usage: " + usage_of(*given.command));
  return *name;
}

Args args_of_job(const Given& given) {
  const Text list = given.text("--args");
  if (!list) {
    std::vector<std::string> values;
    for (std::size_t i = 1; i < given.words.size(); ++i) values.push_back(argument(given.words[i]));
    return Args::of_json(std::move(values));
  }
  if (given.words.size() > 1)
    refuse("--args and the argument " + shown(given.words[1]) + " exclude each other; give one of them");
  if (Status s = check_json_depth(*list, "--args"); !s) refuse(s.error().detail);
  auto args = Args::parse(*list);
  if (!args) refuse("--args " + shown(*list) + " is not a JSON array; write it as '[1, \"a\"]'");
  return *std::move(args);
}

std::string queue_of_job(const Given& given) {
  const Words& queues = given.texts("--queue");
  if (queues.size() > 1) refuse("--queue was given twice; give one queue");
  return queues.empty() ? "" : queues.front();
}

std::vector<JobId> job_ids_of(const Given& given) {
  if (given.words.empty()) refuse("ID is missing; usage: " + usage_of(*given.command));
  std::vector<JobId> ids;
  for (const std::string& word : given.words) ids.push_back(id_of(word));
  return ids;
}

// The store chooses the form of the key; this is the shorter one.
void check_lock_key(const std::string& name, const JobOptions& options, const Args& args) {
  if (!options.lock && !options.lock_key) return;
  const auto key = job_key(name, options, args, JobKeyForm::joined);
  if (key) return;
  bool structured = false;
  for (std::size_t i = 0; i < args.size(); ++i)
    structured = structured || args[i].starts_with('[') || args[i].starts_with('{');
  refuse(structured && !options.lock_key
             ? "an argument of " + shown(name) +
                   " is a list or an object, from which no key can be made; give one with --key"
             : key.error().detail);
}

}  // namespace holdfast::cli
