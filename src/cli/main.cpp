// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/setup/store_url.h"
#include "cli/words/command_line.h"

namespace holdfast::cli {
namespace {

void choose(Setup& setup, const StoreWord& given, StoreUse use) {
  auto choice = choose_store(given, setup.configuration);
  if (choice)
    setup.store = *std::move(choice);
  else if (use == StoreUse::opened)
    throw_failure(std::move(choice).error());
  else
    setup.no_store = std::move(choice).error();
  setup.store.from = setup.no_store ? given.from : setup.store.from;
}

// Read when it is first needed, so that an invalid file does not break `help`.
class LazyConfiguration {
 public:
  const Configuration& get() {
    if (!read_) read_ = read_configuration(configuration_paths()).value();
    return *read_;
  }

 private:
  std::optional<Configuration> read_;
};

int holdfast_main(std::span<char* const> argv) {
  LazyConfiguration configuration;
  std::vector<Entry> filled_in;
  try {
    auto parsed =
        parse_command_line(argv, [&](Given& given) { filled_in = substitute(configuration.get(), given); });
    if (!parsed) return fail(blamed(std::move(parsed).error(), filled_in));
    Setup setup;
    Common common = parsed->common;
    hide_secrets_of(parsed->stores, argv);
    common.inherited = take_from_environment();
    const StoreUse use = parsed->given.command->store;
    if (use != StoreUse::none) {
      setup.configuration = configuration.get();
      choose(setup, store_word(common.store, common.inherited, setup.configuration), use);
      if (use == StoreUse::opened) common.store = url_of(setup.store).value();
      common.setup = &setup;
    }
    return parsed->action(common);
  } catch (const Failure& failure) {
    return fail(failure.error());
  } catch (const std::exception& e) {  // out of memory, descriptors or processes
    complain(e.what());
    return exit_unreachable;
  }
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  // With set-user-id, the caller's paths, environment and CMD would be used with another user's rights.
  if (::getauxval(AT_SECURE) != 0) {
    holdfast::cli::complain(
        "holdfast refuses to run set-user-id or set-group-id: every CMD would get those rights; remove the "
        "bit (chmod ug-s)");
    std::_Exit(holdfast::cli::exit_refused);
  }
  // Our threads allocate little: an arena for each would cost a short command more time than it saves.
  ::mallopt(M_ARENA_MAX, 1);
  holdfast::cli::fill_standard_descriptors();
  int code = holdfast::cli::holdfast_main({argv, static_cast<std::size_t>(argc)});
  if (const holdfast::Status flushed = holdfast::cli::flush_stdout(); !flushed)
    code = holdfast::cli::fail(flushed.error());
  // Not by return: a thread may hang in a store, and still uses static objects.
  std::_Exit(code);
}
