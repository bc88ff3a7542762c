// SPDX-License-Identifier: Apache-2.0
// completions.cpp - `holdfast completions SHELL`: the script that a shell needs.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/words/completions_stubs.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

struct Script {
  const char* text;
};

Script script_of(const Given& given) {
  const Words shells{"bash", "zsh", "fish"};
  const Text shell = given.word(0);
  if (!shell) refuse("SHELL is missing; give " + one_of_these(shells));
  if (*shell == "bash") return {bash_stub};
  if (*shell == "zsh") return {zsh_stub};
  if (*shell == "fish") return {fish_stub};
  refuse("unknown shell " + shown(*shell) + suggestion(*shell, shells) + "give " + one_of_these(shells));
}

int execute(const Script& script, const Common&) {
  print_unchanged(script.text);
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::completions{
    .name = "completions",
    .usage = "bash|zsh|fish",
    .purpose = "Print a script that completes commands in a shell",
    .more =
        R"(To try it in one zsh or bash: source <(holdfast completions SHELL). To complete a KEY, the shell asks
the store.

  holdfast completions bash > /etc/bash_completion.d/holdfast
  holdfast completions fish > ~/.config/fish/completions/holdfast.fish)",
    .read = reads<script_of>,
    .store = StoreUse::none,
};

}  // namespace holdfast::cli
