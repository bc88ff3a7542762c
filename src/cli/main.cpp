// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/store_url.h"

namespace holdfast::cli {
namespace {

// If we were started without one of 0, 1, 2, the next thing we open would take its place, and CMD would
// write its output into our database.
void fill_standard_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) ::close(fd);
}

bool needs_store(const Command& command) {
  return !std::holds_alternative<Version>(command) && !std::holds_alternative<Help>(command);
}

int holdfast_main(std::span<char* const> argv) {
  auto parsed = parse_command_line(argv);
  if (!parsed) return fail(parsed.error());
  try {
    if (needs_store(parsed->command)) {
      auto url = take_store_url(parsed->common.store, argv);
      if (!url) return fail(url.error());
      parsed->common.store = *std::move(url);
    }
    return std::visit([&](const auto& command) { return execute(command, parsed->common); }, parsed->command);
  } catch (const std::exception& e) {  // out of memory, descriptors or processes
    complain(e.what());
    return exit_unreachable;
  }
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  holdfast::cli::fill_standard_descriptors();
  int code = holdfast::cli::holdfast_main({argv, static_cast<std::size_t>(argc)});
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    code = holdfast::cli::fail(
        {holdfast::Errc::refused, std::string("cannot write the answer: ") + std::strerror(errno)});
  }
  // Not by return: a thread may be stuck in a store, and nothing static must be torn down under it.
  std::_Exit(code);
}
