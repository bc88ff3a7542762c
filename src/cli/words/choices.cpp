// SPDX-License-Identifier: Apache-2.0
#include "cli/words/choices.h"

#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {

namespace {

std::vector<std::string> stores_with_fence() {
  std::vector<std::string> names;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (!store.fence.empty()) names.emplace_back(store.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> choices_of(std::string_view option) {
  if (option == "--on-lost") return {"term", "kill", "ignore", "exec:"};
  if (option == "--sort") return {"key", "since", "remaining", "waiting"};
  if (option == "--unique") return {"loner", "until_start", "until_success"};
  if (option == "--on-conflict") return {"drop", "wait", "raise", "replace"};
  if (option == "--state") return {"queued", "running", "done", "dead", "dropped", "cancelled"};
  if (option == "--code") return stores_with_fence();
  if (option == "SHELL") return {"bash", "zsh", "fish"};
  return {};
}

std::string one_of_these(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace holdfast::cli
