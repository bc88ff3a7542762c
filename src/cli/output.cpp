// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fcntl.h>
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
#include "cli/exit_code.h"

namespace holdfast::cli {
namespace {

// A terminal with another encoding takes some bytes of UTF-8 for control characters: 9B is CSI.  The locale
// in the environment names the encoding, even if that locale is not installed.  Without a locale it is UTF-8.
bool takes_utf8(int fd) noexcept {
  if (::isatty(fd) != 1) return true;
  for (const char* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const locale = ::secure_getenv(variable);
    if (locale != nullptr && *locale != '\0')
      return ::strcasestr(locale, "utf-8") != nullptr || ::strcasestr(locale, "utf8") != nullptr;
  }
  return true;
}

// ---- stdout

constexpr const char* null_device = "/dev/null";

bool& stdout_was_closed() {
  static bool closed = false;
  return closed;
}

// The errno of the first write that failed; 0: none did.  It is kept, because stdio only remembers that there
// was an error, and later calls overwrite errno.
int& first_write_error() {
  static int error = 0;
  return error;
}

void check_written(bool written) {
  if (!written && first_write_error() == 0) first_write_error() = errno != 0 ? errno : EIO;
}

Error not_written(int error) {
  const char* const why = error == EBADF ? "stdout is not open for writing" : std::strerror(error);
  return {Errc::refused, std::string("cannot write the answer: ") + why};
}

// ---- secrets

// A password of one letter would be hidden wherever that letter stands, which gives it away.
constexpr std::size_t shortest_secret = 4;
constexpr std::string_view hidden = "***";

std::vector<std::string>& secrets() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

void print(std::string_view line) {
  const std::string text = encode_for(STDOUT_FILENO, std::string(line) + '\n');
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_unchanged(std::string_view text) {
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

Status print_now(std::string_view line) {
  const std::string text = encode_for(STDOUT_FILENO, std::string(line) + '\n');
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Error{Errc::stopped, "nobody reads the answer any more"};
    } else if (errno == EAGAIN) {  // another process that shares it has set O_NONBLOCK
      pollfd room{STDOUT_FILENO, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return not_written(errno);
    }
  }
  return Status{};
}

Status flush_stdout() {
  check_written(std::fflush(stdout) == 0);
  return first_write_error() == 0 ? Status{} : Status(not_written(first_write_error()));
}

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    stdout_was_closed() = stdout_was_closed() || fd == STDOUT_FILENO;
    // open() returns the lowest free number, which is this one.
    (void)!::open(null_device, fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

void discard_closed_stdout() {
  if (!stdout_was_closed()) return;
  const int fd = ::open(null_device, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  ::dup2(fd, STDOUT_FILENO);
  ::close(fd);
}

void complain(std::string_view sentence) noexcept {
  try {
    // A path in the sentence may contain control characters.
    const std::string line =
        encode_for(STDERR_FILENO, "holdfast: " + printable(without_secrets(sentence)) + '\n');
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  } catch (...) {  // the sentence itself may have a secret in it
    constexpr std::string_view line = "holdfast: out of memory\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  }
}

int fail(const Error& error) {
  // The library writes the whole owner; people need only its host and process.
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

void hide_secret(const std::string& secret) {
  if (secret.size() < shortest_secret) return;
  std::vector<std::string>& all = secrets();
  // Most sentences contain text that is escaped already.
  for (const std::string& written : {secret, printable(secret)}) {
    if (std::find(all.begin(), all.end(), written) == all.end()) all.push_back(written);
  }
}

// Secrets may overlap: each byte of any of them is hidden, and adjacent ones become one ***.
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

std::string encode_for(int fd, std::string text) {
  if (takes_utf8(fd)) return text;
  const auto is_ascii = [](char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; };
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::erase_if(text, continues);
  std::replace_if(text.begin(), text.end(), std::not_fn(is_ascii), '?');
  return text;
}

bool wants_colour(std::FILE* stream) noexcept {
  const char* const no_colour = ::secure_getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(::fileno(stream)) == 1;
}

std::string short_owner(std::string_view owner) {
  if (const auto where = whereabouts(owner)) return where->host + " pid " + where->pid;
  // The person who broke a lease is written as olga@HOST pid N; no host name has an @.
  const std::size_t pid = owner.find(" pid ");
  const bool like_a_process =
      owner.starts_with("host:") || (pid != std::string_view::npos && owner.find('@') > pid);
  return like_a_process ? '"' + std::string(owner) + '"' : std::string(owner);
}

}  // namespace holdfast::cli
