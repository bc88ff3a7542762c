// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/store_url.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/url.h"
#include "cli/output.h"
#include "cli/setup/secrets.h"
#include "cli/setup/small_file.h"
#include "cli/words/nearest.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

constexpr const char* variable = "HOLDFAST_STORE";

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
}

Status check_from_environment(const std::string& url) {
  if (url.empty())
    return Error{Errc::invalid, "HOLDFAST_STORE is empty; set it to the URL of a store, or unset it"};
  if (url.find(":***@") != std::string::npos || url.find("=***") != std::string::npos)
    return Error{
        Errc::refused,
        "HOLDFAST_STORE is " + printable(url) +
            ": holdfast does not pass its password on to the commands that it runs; put the URL into "
            "a file, and set HOLDFAST_STORE=@FILE"};
  return Status{};
}

Error unreadable(const char* what, const std::string& path, const std::string& why) {
  return {Errc::refused, std::string("cannot read the ") + what + " from " + printable(path) + ": " + why};
}

constexpr const char* shared_secret = "it contains a password, and others may read it; run chmod 600";

// The first line of a file that nobody but us and root could have written; and if it is secret, read.
Result<std::string> line_in(const std::string& path, const char* what,
                            bool (*is_secret)(const std::string& line)) {
  const auto file = read_small_file(path);
  if (!file) return unreadable(what, path, file.error().detail);
  if (!*file) return unreadable(what, path, std::strerror(ENOENT));
  std::string line = first_line_of((*file)->text);
  if (is_secret(line) && !(*file)->is_private()) return unreadable(what, path, shared_secret);
  if (const std::string why = distrust(**file); !why.empty()) return unreadable(what, path, why);
  if (line.empty()) return unreadable(what, path, "its first line is empty");
  if (line.find('\0') != std::string::npos) return unreadable(what, path, "it contains a NUL byte");
  return line;
}

Result<std::string> url_in(const std::string& path) {
  auto line = line_in(path, "URL of the store", &has_secret);
  if (!line) return line;
  // Whoever names the file means one store, in whatever folder.
  if (is_relative(*line))
    return Error{Errc::invalid, "the URL in " + printable(path) +
                                    " is relative and would be another file in every folder; give an "
                                    "absolute path, as " +
                                    std::string(scheme_of(*line)) + "/PATH"};
  return line;
}

Result<std::string> password_in(const std::string& path) {
  return line_in(path, "password of the store", [](const std::string&) { return true; });
}

// Not sslpassword=, which opens the file of a key.
bool has_password(const std::string& url) {
  if (has_secret(url.substr(0, url.find('?')))) return true;
  const auto parsed = parse_url(url);
  return parsed && std::any_of(parsed->parameters.begin(), parsed->parameters.end(),
                               [](const auto& parameter) { return parameter.first == "password"; });
}

// Drivers take a password from there, at every connection; CMD would inherit it, and everybody of our user
// could read it in /proc.
void take_over_password(std::string& url) {
  const StoreDescriptor* const store = descriptor_of(url);
  if (store == nullptr || store->password_variable.empty()) return;
  const std::string variable_name(store->password_variable);
  char* const value = ::secure_getenv(variable_name.c_str());
  if (value == nullptr || *value == '\0') return;
  if (!has_password(url)) {
    url += url.find('?') == std::string::npos ? "?password=" : "&password=";
    url += percent_encoded(value);
  }
  ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(variable_name.c_str());
}

// By whatever folder CMD goes to.
std::string absolute(const std::string& path) {
  std::error_code no_folder;
  const auto whole = std::filesystem::absolute(path, no_folder);
  return no_folder ? path : whole.string();
}

std::string anywhere(const std::string& url) {
  const std::string_view scheme = scheme_of(url);
  if (!is_relative(url) || url.size() == scheme.size()) return url;
  std::error_code no_folder;
  const auto folder = std::filesystem::current_path(no_folder);
  if (no_folder) return url;
  return std::string(scheme) + as_path_of_url(folder.string()) + "/" + url.substr(scheme.size());
}

Result<StoreChoice> named_store(const std::string& name, const std::string& by,
                                const Configuration& configuration) {
  if (const StoreEntry* const found = configuration.store_named(name); found != nullptr)
    return StoreChoice{found->url, name, found->password, found->password_file,
                       found->from + " (" + name + ", by " + by + ")"};
  const std::vector<std::string> names = configuration.store_names();
  std::string known;
  for (const std::string& other : names) known += (known.empty() ? "" : ", ") + other;
  return Error{
      Errc::invalid,
      printable(by) + " \"" + printable(redacted(name)) + "\" is neither the URL of a store, as " +
          std::string(default_store().url) + ", nor a name in the configuration" + suggestion(name, names) +
          (known.empty() ? "the configuration names no stores" : "the configuration names " + known)};
}

Result<StoreChoice> store_of(const std::string& word, const std::string& by,
                             const Configuration& configuration) {
  if (is_store_name(word)) return named_store(word, by, configuration);
  return StoreChoice{.url = word, .from = by};
}

// What CMD calls should find the same store.
void hand_on(const StoreChoice& choice, bool of_configuration) {
  const bool secret = has_secret(choice.url) || !choice.password.empty() || !choice.password_file.empty();
  if (choice.url.front() == '@')
    ::setenv(variable, ("@" + absolute(choice.url.substr(1))).c_str(), 1);
  else if (!secret)
    ::setenv(variable, anywhere(choice.url).c_str(), 1);
  else if (!choice.name.empty())
    ::setenv(variable, choice.name.c_str(), 1);
  else if (!of_configuration)  // which says the same to what CMD calls
    ::setenv(variable, redacted(choice.url).c_str(), 1);
}

}  // namespace

void hide_secrets_of(std::span<const std::string> stores, std::span<char* const> argv) {
  bool hidden = false;
  for (const std::string& url : stores) {
    if (!has_secret(url)) continue;
    keep_secret(url);
    hide_in_arguments(url, argv);
    hidden = true;
  }
  if (hidden)
    complain(
        "--store contains a password, which other users could read in the list of processes until now; put "
        "the URL into HOLDFAST_STORE, or into a file and give --store @FILE");
}

std::optional<std::string> take_from_environment() {
  char* const value = ::secure_getenv(variable);
  if (value == nullptr) return {};
  std::string url = value;
  if (has_secret(url)) {
    keep_secret(url);
    ::explicit_bzero(value, url.size());
    ::setenv(variable, redacted(url).c_str(), 1);
  }
  return url;
}

StoreWord store_word(const std::string& given, const std::optional<std::string>& inherited,
                     const Configuration& configuration) {
  if (!given.empty()) return {given, "--store", StoreWord::By::option};
  if (inherited) return {*inherited, variable, StoreWord::By::environment};
  if (const Entry* const said = configuration.store(); said != nullptr)
    return {said->text, said->from, StoreWord::By::configuration};
  return {default_store().default_url(), "default", StoreWord::By::nobody};
}

Result<StoreChoice> choose_store(const StoreWord& said, const Configuration& configuration) {
  if (said.by == StoreWord::By::nobody) {
    if (const Entry* const required = configuration.store_required(); required != nullptr)
      return Error{Errc::invalid, "no store was given, and " + printable(required->from) +
                                      " requires one; give --store URL, set HOLDFAST_STORE, or write store = "
                                      "\"…\" into the configuration"};
    return StoreChoice{.url = said.word, .from = said.from, .implicit = true};
  }
  if (said.by == StoreWord::By::environment) {
    if (Status s = check_from_environment(said.word); !s) return std::move(s).error();
  }
  auto choice = store_of(said.word, said.from, configuration);
  if (!choice) return choice;
  keep_secret(choice->url);
  hand_on(*choice, said.by == StoreWord::By::configuration);
  return choice;
}

std::string_view scheme_of(std::string_view url) { return url.substr(0, url.find(':') + 1); }

bool is_relative(std::string_view url) {
  const StoreDescriptor* const store = descriptor_of(url);
  return store != nullptr && store->place == StorePlace::file &&
         !url.substr(scheme_of(url).size()).starts_with('/');
}

Result<std::string> url_of(const StoreChoice& choice) {
  std::string url = choice.url;
  if (url.front() == '@') {
    auto read = url_in(url.substr(1));
    if (!read) return read;
    url = *std::move(read);
  }
  if (const StoreDescriptor* const store = descriptor_of(url);
      store != nullptr && store->place == StorePlace::process)
    return Error{Errc::invalid, std::string(scheme_of(url)) + " lasts only as long as this process; give " +
                                    std::string(default_store().url)};
  std::string password = choice.password;
  if (!choice.password_file.empty()) {
    auto read = password_in(choice.password_file);
    if (!read) return read;
    password = *std::move(read);
  }
  if (!password.empty()) url = with_password(url, password);
  take_over_password(url);
  keep_secret(url);
  return url;
}

}  // namespace holdfast::cli
