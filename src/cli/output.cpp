// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/answer.h"
#include "cli/columns.h"
#include "cli/exit_code.h"

namespace holdfast::cli {
namespace {

// A terminal that is set to another encoding takes bytes of our characters for controls: 9B is CSI.  Which
// one it is set to, the locale tells that the environment names, also where it is not installed; without a
// word it is UTF-8.
bool takes_utf8(int fd) noexcept {
  if (::isatty(fd) != 1) return true;
  for (const char* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const locale = ::secure_getenv(variable);
    if (locale != nullptr && *locale != '\0')
      return ::strcasestr(locale, "utf-8") != nullptr || ::strcasestr(locale, "utf8") != nullptr;
  }
  return true;
}

constexpr std::string_view bold = "\033[1m";
constexpr std::string_view plain = "\033[0m";

std::vector<std::size_t> widths(const Rows& rows) {
  std::vector<std::size_t> columns;
  for (const auto& row : rows) {
    columns.resize(std::max(columns.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) columns[i] = std::max(columns[i], columns_of(row[i]));
  }
  return columns;
}

std::string one_line(const Row& row, const std::vector<std::size_t>& columns) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string cell = printable(row[i]);
    line += cell + std::string(columns[i] - columns_of(cell) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// One letter as a password would be hidden wherever it stands, and so be guessed.
constexpr std::size_t shortest_secret = 4;
constexpr std::string_view hidden = "***";

std::vector<std::string>& secrets() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

// One may begin with another or overlap it: what any of them takes for secret is hidden, and then as one.
std::string without_secrets(std::string_view text) {
  std::vector<bool> secret(text.size());
  for (const std::string& word : secrets()) {
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      for (std::size_t i = at; i < at + word.size(); ++i) secret[i] = true;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!secret[i])
      out.push_back(text[i]);
    else if (i == 0 || !secret[i - 1])
      out.append(hidden);
  }
  return out;
}

void never_say(const std::string& secret) {
  if (secret.size() < shortest_secret) return;
  std::vector<std::string>& all = secrets();
  // Most sentences are made of what was escaped before.
  for (const std::string& written : {secret, printable(secret)}) {
    if (std::find(all.begin(), all.end(), written) == all.end()) all.push_back(written);
  }
}

std::string fit_for(int fd, std::string text) {
  if (takes_utf8(fd)) return text;
  const auto is_ascii = [](char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; };
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::erase_if(text, continues);
  std::replace_if(text.begin(), text.end(), std::not_fn(is_ascii), '?');
  return text;
}

void say(std::string_view line) {
  const std::string text = fit_for(STDOUT_FILENO, std::string(line) + '\n');
  note_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

Status say_now(std::string_view line) {
  const std::string text = fit_for(STDOUT_FILENO, std::string(line) + '\n');
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Error{Errc::stopped, "nobody reads the answer any more"};
    } else if (errno == EAGAIN) {  // whoever shares it with us has set O_NONBLOCK
      pollfd room{STDOUT_FILENO, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return unwritten(errno);
    }
  }
  return Status{};
}

void complain(std::string_view sentence) noexcept {
  try {
    // A path in it may be anything.
    const std::string line =
        fit_for(STDERR_FILENO, "holdfast: " + printable(without_secrets(sentence)) + '\n');
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  } catch (...) {  // the sentence itself may have a secret in it
    constexpr std::string_view line = "holdfast: out of memory\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  }
}

int fail(const Error& error) {
  // The library tells a holder's whole name; in a sentence the part that people know is enough.
  std::string sentence = error.detail;
  const std::string owner = printable(error.owner);
  if (const std::size_t at = owner.empty() ? std::string::npos : sentence.find(" held by " + owner);
      at != std::string::npos)
    sentence.replace(at + std::strlen(" held by "), owner.size(), printable(short_owner(error.owner)));
  const bool known =
      error.busy() && !error.owner.empty() && error.remaining > Millis::zero() && error.remaining != never;
  complain(sentence + (known ? " (" + format_duration(error.remaining) + " left)" : ""));
  return exit_code(error.code);
}

int cannot_run(const std::string& program, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  const char* const right = missing           ? "; give the name of a program in PATH, or its path"
                            : error == EACCES ? "; make it executable, or give another program"
                                              : "";
  complain("cannot run \"" + printable(program) + "\": " + std::strerror(error) + right);
  return missing ? exit_not_found : exit_cannot_run;
}

bool wants_colour(std::FILE* stream) noexcept {
  const char* const no_colour = ::secure_getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(::fileno(stream)) == 1;
}

std::string aligned(const Rows& rows, bool headed, bool colour) {
  const std::vector<std::size_t> columns = widths(rows);
  std::string text;
  for (const auto& row : rows) {
    const bool heading = headed && &row == &rows.front();
    const std::string line = one_line(row, columns);
    if (!text.empty()) text += '\n';
    text += heading && colour ? std::string(bold) + line + std::string(plain) : line;
  }
  return text;
}

std::string short_owner(std::string_view owner) {
  if (const auto where = whereabouts(owner)) return where->host + " pid " + where->pid;
  // Who broke a lease is told as olga@HOST pid N, and no host has an @.
  const std::size_t pid = owner.find(" pid ");
  const bool like_a_process =
      owner.starts_with("host:") || (pid != std::string_view::npos && owner.find('@') > pid);
  return like_a_process ? '"' + std::string(owner) + '"' : std::string(owner);
}

}  // namespace holdfast::cli
