// SPDX-License-Identifier: Apache-2.0
// Words from anybody: the input, cut at its NULs, is the command line.
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/run/run.h"
#include "cli/words/command_line.h"
#include "fuzz/target.h"

namespace {

using namespace holdfast;
using fuzz::require;

constexpr std::string_view canary = "c4n4ry";
constexpr const char* address = "postgres://me:c4n4ry@host/db";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{"holdfast"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    std::string word(text.substr(0, end));
    // \x01 stands for an address with a password, wherever a word may have one.
    // Behind sqlite: it would be a part of a path.
    const std::size_t from = word.find("sqlite:") == std::string::npos ? 0 : word.size();
    for (std::size_t at = from; (at = word.find('\x01', at)) != std::string::npos;)
      word.replace(at, 1, address);
    words.push_back(std::move(word));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (fuzz::text_of(data, size).find("4n4") != std::string_view::npos) return -1;  // not as a password
  std::vector<std::string> words = words_of(fuzz::text_of(data, size));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto parsed = cli::parse_command_line(argv);
  if (!parsed) {
    const std::string& detail = parsed.error().detail;
    require(parsed.error().code == Errc::invalid, "a bad command line is a usage error", detail);
    require(!detail.empty() && is_utf8(detail) && printable(detail) == detail,
            "an error is one sentence, fit for a terminal", detail);
    require(detail.find(canary) == std::string::npos, "no password in an error", detail);
    return 0;
  }
  if (parsed->given.command == &cli::commands::run) {
    const cli::Run run = cli::run_of(parsed->given);
    require(!run.command.empty() && !run.command.front().empty(), "run has a CMD");
    require(run.busy_code >= 0 && run.busy_code <= 255, "an exit code is a byte");
    require(!run.key.empty() && run.key.size() <= 512 && is_utf8(run.key), "a key was checked");
    // CMD's words are the last ones, as they were given.
    require(run.command.size() < words.size() &&
                std::equal(run.command.rbegin(), run.command.rend(), words.rbegin()),
            "CMD is untouched");
  }
  return 0;
}
