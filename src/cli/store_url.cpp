// SPDX-License-Identifier: Apache-2.0
#include "cli/store_url.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/output.h"
#include "holdfast/sqlite.h"

namespace holdfast::cli {
namespace {

constexpr const char* variable = "HOLDFAST_STORE";

bool has_secret(const std::string& url) { return redacted(url) != url; }

// Over the old text, in place: the system shows the memory itself, and it cannot grow.
void overwrite(char* text, std::size_t size, const std::string& with) {
  std::memset(text, 0, size);
  std::copy_n(with.data(), std::min(with.size(), size), text);
}

void hide_in_arguments(const std::string& url, std::span<char* const> argv) {
  for (char* const word : argv) {
    // --store URL, or --store=URL
    const std::string_view text(word);
    if (text.ends_with(url)) overwrite(word + (text.size() - url.size()), url.size(), redacted(url));
  }
  complain(
      "--store holds a password, which others could read in the list of processes until now: put the URL "
      "into HOLDFAST_STORE or into a file, --store @FILE");
}

// A password there is not for CMD.  What CMD calls must not take another store for want of it either, so it
// finds the rest of the URL, which is refused below.
std::optional<std::string> from_environment() {
  char* const value = ::secure_getenv(variable);
  if (value == nullptr) return {};
  std::string url = value;
  if (has_secret(url)) {
    ::explicit_bzero(value, url.size());
    ::setenv(variable, redacted(url).c_str(), 1);
  }
  return url;
}

Status check_from_environment(const std::string& url) {
  if (url.empty())
    return Error{Errc::invalid, "HOLDFAST_STORE is empty: set it to the URL of a store, or unset it"};
  if (url.find(":***@") != std::string::npos || url.find("=***") != std::string::npos)
    return Error{Errc::refused,
                 "HOLDFAST_STORE is " + printable(url) +
                     ": its password was not handed on to this command; put the URL into a file, "
                     "HOLDFAST_STORE=@FILE"};
  return ok();
}

Error unreadable(const std::string& path, const char* why) {
  return {Errc::refused, "cannot read the URL of the store from " + printable(path) + ": " + why};
}

Result<std::string> first_line_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) return unreadable(path, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return unreadable(path, "it is no regular file");
  std::array<char, 8192> bytes;
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 0) return unreadable(path, std::strerror(errno));
  std::string url(bytes.data(), static_cast<std::size_t>(size));
  ::explicit_bzero(bytes.data(), bytes.size());
  url.resize(std::min(url.find_first_of("\r\n"), url.size()));
  url.erase(0, std::min(url.find_first_not_of(" \t"), url.size()));
  url.resize(url.find_last_not_of(" \t") + 1);
  if (url.empty()) return unreadable(path, "its first line is empty");
  if (has_secret(url) && (found.st_mode & 077) != 0)
    return unreadable(path, "it holds a password, and others may read it; chmod 600");
  return url;
}

// A path may hold ? and %, which mean something in a URL.
std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) out += c == '%' ? "%25" : c == '?' ? "%3F" : std::string(1, c);
  return out;
}

// Drivers take a password from there, at every connection; CMD would inherit it, and everybody of our user
// could read it in /proc.
struct PasswordVariable {
  std::array<std::string_view, 2> schemes;
  const char* name;
};
constexpr PasswordVariable password_variables[] = {{{"postgres:", "postgresql:"}, "PGPASSWORD"},
                                                   {{"mariadb:", "mysql:"}, "MYSQL_PWD"}};

void append_encoded(std::string& url, std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    url += {'%', hex[byte / 16], hex[byte % 16]};
  }
}

void take_over_password(const PasswordVariable& from, std::string& url) {
  if (!url.starts_with(from.schemes[0]) && !url.starts_with(from.schemes[1])) return;
  char* const value = ::secure_getenv(from.name);
  if (value == nullptr || *value == '\0') return;
  const bool has_one = has_secret(url.substr(0, url.find('?'))) || url.find("password=") != std::string::npos;
  if (!has_one) {
    url += url.find('?') == std::string::npos ? "?password=" : "&password=";
    append_encoded(url, value);
  }
  ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(from.name);
}

// What the drivers say about their URL goes through our output too.
void keep_secret(const std::string& url) {
  ::prctl(PR_SET_DUMPABLE, 0);
  for (const std::string& secret : secrets_in(url)) never_say(secret);
}

// By whatever folder CMD goes to.
std::string absolute(const std::string& path) {
  std::error_code no_folder;
  const auto whole = std::filesystem::absolute(path, no_folder);
  return no_folder ? path : whole.string();
}

std::string anywhere(const std::string& url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme) || url.size() == scheme.size() || url[scheme.size()] == '/') return url;
  std::error_code no_folder;
  const auto folder = std::filesystem::current_path(no_folder);
  if (no_folder) return url;
  return std::string(scheme) + percent_encoded(folder.string()) + "/" + url.substr(scheme.size());
}

}  // namespace

Result<std::string> take_store_url(const std::string& given, std::span<char* const> argv) {
  const bool on_the_command_line = !given.empty();
  const std::optional<std::string> inherited = from_environment();
  if (!on_the_command_line && inherited) {
    if (Status s = check_from_environment(*inherited); !s) return std::move(s).error();
  }
  std::string url = on_the_command_line ? given : inherited.value_or("");
  if (url.empty()) return "sqlite:" + percent_encoded(sqlite::default_path());
  // What CMD calls should find the same store.
  if (url.front() == '@') {
    const std::string file = absolute(url.substr(1));
    auto read = first_line_of(url.substr(1));
    if (!read) return read;
    url = *std::move(read);
    ::setenv(variable, ("@" + file).c_str(), 1);
  } else if (!has_secret(url)) {
    ::setenv(variable, anywhere(url).c_str(), 1);
  } else if (on_the_command_line) {
    hide_in_arguments(url, argv);
    ::setenv(variable, redacted(url).c_str(), 1);
  }
  if (url.starts_with("memory:"))
    return Error{Errc::invalid, "memory: is inside one process, and this one ends: give sqlite:PATH"};
  for (const PasswordVariable& variable_of : password_variables) take_over_password(variable_of, url);
  if (has_secret(url)) keep_secret(url);
  return url;
}

}  // namespace holdfast::cli
