// SPDX-License-Identifier: Apache-2.0
// fence.cpp - `holdfast fence FILE TOKEN -- CMD`: claim FILE, then become CMD.
//
// There is no process of ours beside CMD that could be killed without it: signals, the terminal and the exit
// code are CMD's own.  The lock is the open file's, which CMD inherits, so it ends when CMD has ended, and
// with it whatever CMD has left running.
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fence_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/exec.h"
#include "cli/words/values.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

Words stores_with_fence() {
  Words names;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (!store.fence.empty()) names.emplace_back(store.name);
  }
  return names;
}

constexpr OptionSpec fence_options[] = {
    {"-n,--nonblock", "", "do not wait if another CMD is using FILE"},
    {"-w,--wait", "DURATION", "wait at most this long for the other CMD, then exit 75 (default: forever)"},
    {"--code", "WHERE", "print the code of the same check for {}", stores_with_fence,
     [] { return one_of_these(stores_with_fence()); }},
};

struct Fence {
  std::string code;  // to print instead
  std::string file;
  Token token{};
  Wait wait = forever;  // for another CMD that uses FILE
  Words command;
};

Fence fence_of(const Given& given) {
  const Text code = given.text("--code"), file = given.word(0), token = given.word(1);
  if (code) {
    const bool is_word = code->find(':') == std::string::npos;
    const StoreDescriptor* const store = is_word ? descriptor_of(*code + ":") : nullptr;
    if (store == nullptr || store->fence.empty())
      refuse("--code " + shown(*code) + " is unknown" + suggestion(*code, stores_with_fence()) + "give " +
             one_of_these(stores_with_fence()));
    if (file) refuse("--code " + *code + " prints a check and runs nothing; leave out " + shown(*file));
    return {.code = std::string(store->fence), .file = {}, .command = {}};
  }
  if (!token)
    refuse((file ? "TOKEN is missing; usage: " : "FILE and TOKEN are missing; usage: ") +
           usage_of(*given.command));
  Fence fence{.code = {},
              .file = *file,
              .token = token_of("TOKEN ", *token, "came with the grant, as $HOLDFAST_TOKEN"),
              .wait = wait_of(given),
              .command = given.cmd};
  if (fence.file.empty()) refuse("FILE is empty; give the path of the file to fence");
  if (fence.command.empty()) refuse("CMD is missing; usage: " + usage_of(*given.command));
  if (fence.command.front().empty()) refuse("CMD is empty; give the name of a program");
  return fence;
}

int execute(const Fence& command, const Common&) {
  if (!command.code.empty()) {
    print_unchanged(command.code);
    return exit_ok;
  }
  discard_closed_stdout();  // CMD writes to it
  const auto claim = FenceFile::claim(command.file, command.token, command.wait);
  if (!claim) return fail(claim.error());
  if (outlives_exec(claim->fd())) {
    const std::vector<char*> argv = arguments(command.command);
    ::execvp(argv[0], argv.data());
  }
  return cannot_run(command.command.front(), errno);
}

}  // namespace

constinit const CommandSpec commands::fence{
    .name = "fence",
    .usage = "[OPTION]... FILE TOKEN [--] CMD [ARG]...",
    .purpose = "Run CMD on FILE, unless FILE has seen a larger token",
    .options = fence_options,
    .more =
        R"(The largest token that FILE has seen is kept beside it, in .FILE.fence. An equal token passes; a larger one is recorded
before CMD starts. No other CMD starts until this one has ended, with everything that it left running.

Exit code: CMD's own; 76 if FILE has seen a larger token (CMD is not run); 75 if another CMD still runs.

  holdfast fence report.csv "$HOLDFAST_TOKEN" -- ./write report.csv
  holdfast fence --code {})",
    .filled_in = [] { return stores_with_fence().back(); },
    .read = reads<fence_of>,
    .store = StoreUse::none,
    .takes_store = false,
    .takes_json = false,  // CMD prints the answer
};

}  // namespace holdfast::cli
