// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "core/url_parameters.h"
#include "stores/postgres/descriptor.h"
#include "stores/postgres/driver.h"

namespace holdfast::postgres {
namespace {

void put(Words& words, std::string name, std::string value) {
  std::erase_if(words, [&](const auto& word) { return word.first == name; });
  words.emplace_back(std::move(name), std::move(value));
}

// All that libpq ended up with, from wherever it came.
Words words_of(PQconninfoOption* options) {
  const OwnedOptions owned(options);
  Words words;
  for (const PQconninfoOption* o = options; o != nullptr && o->keyword != nullptr; ++o) {
    if (o->val != nullptr && *o->val != '\0') words.emplace_back(o->keyword, o->val);
  }
  return words;
}

bool is_known(std::string_view word) {
  const OwnedOptions all(PQconndefaults());
  for (const PQconninfoOption* o = all.get(); o != nullptr && o->keyword != nullptr; ++o) {
    if (o->keyword == word) return true;
  }
  return false;
}

bool is_given(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Where an element of hostaddr is empty, libpq looks up the host beside it.
bool all_local(const Words& words) {
  const auto hosts = split(find(words, "host")), addresses = split(find(words, "hostaddr"));
  for (std::size_t i = 0; i < std::max(hosts.size(), addresses.size()); ++i) {
    const std::string address = i < addresses.size() ? addresses[i] : "";
    const std::string host = !address.empty() || i >= hosts.size() ? address : hosts[i];
    const bool is_socket = host.empty() || host.front() == '/' || host.front() == '@';
    if (!is_socket && !is_local(host)) return false;
  }
  return true;
}

// Where distributions keep the certificates that everybody trusts.
std::string system_certificates() {
  for (const char* path :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}) {
    if (::access(path, R_OK) == 0) return path;
  }
  return {};
}

// Whom this user trusts, as libpq finds it: without HOME where the system says that the user is at home.
// Empty: nothing is there.
std::string own_certificates() {
  std::array<char, 4096> space;
  passwd entry{};
  passwd* user = nullptr;
  std::string home = is_given("HOME") ? std::getenv("HOME") : "";
  if (home.empty() && ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &user) == 0 &&
      user != nullptr)
    home = user->pw_dir;
  if (home.empty()) return "";
  const std::string path = home + "/.postgresql/root.crt";
  return ::access(path.c_str(), F_OK) == 0 ? path : "";
}

constexpr std::pair<const char*, const char*> line_checks[] = {{"keepalives_idle", "10"},
                                                               {"keepalives_interval", "5"},
                                                               {"keepalives_count", "3"},
                                                               {"tcp_user_timeout", "15000"}};

// In whatever language: "0" stands there by itself.
bool is_about_port_0(std::string_view complaint) {
  const auto alone = [&](std::size_t i) {
    return i >= complaint.size() || std::isalnum(static_cast<unsigned char>(complaint[i])) == 0;
  };
  for (std::size_t at = complaint.find('0'); at != std::string_view::npos; at = complaint.find('0', at + 1)) {
    if (alone(at - 1) && alone(at + 1)) return true;
  }
  return complaint.empty();
}

}  // namespace

Result<Settings> Settings::from(const std::string& conninfo, const Words& more) {
  Settings settings;
  if (auto status = check_address(conninfo); !status) return std::move(status).error();
  if (auto status = load_libpq(); !status) return std::move(status).error();
  char* complaint = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(conninfo.c_str(), &complaint);
  const std::unique_ptr<char, Freed<&PQfreemem>> owned(complaint);
  // Not in libpq's words: they quote what they cannot read, and that may be the password.
  if (parsed == nullptr) return unreadable_address();
  settings.words_ = words_of(parsed);
  for (const auto& [name, value] : more) {
    if (!is_known(name)) {
      // With an @ it is rather what stands behind a ? in a password.
      if ((name + value).find('@') != std::string::npos) return unreadable_address();
      return core::unknown_parameter(store_descriptor, store_descriptor.schemes.front(), name);
    }
    put(settings.words_, name, value);
  }
  for (const auto& [name, value] : settings.words_) {
    if (name == "password" || name == "sslpassword") settings.secrets_.push_back(value);
  }
  if (is_given("PGPASSWORD")) settings.secrets_.emplace_back(std::getenv("PGPASSWORD"));
  if (auto status = check_words(settings.words_); !status) return std::move(status).error();
  if (auto status = settings.look_up(); !status) return std::move(status).error();
  return settings;
}

// libpq says what it would use, service file and environment included, only about a connection.  One to port
// 0 is given up before anything is sent anywhere, and last of all: what it finds wrong before is.
Status Settings::look_up() {
  Words probe = words_;
  put(probe, "port", "0");
  const Keywords asked(probe);
  const OwnedConnection connection(PQconnectStartParams(asked.names(), asked.values(), 0));
  if (!connection) return Error{Errc::unavailable, "out of memory while reading the settings of PostgreSQL"};
  if (const std::string_view complaint = PQerrorMessage(connection.get()); !is_about_port_0(complaint)) {
    return Error{Errc::invalid, "libpq does not accept these settings: " + shown(complaint)};
  }
  Words used = words_of(PQconninfo(connection.get()));

  const bool mode_given = !find(words_, "sslmode").empty() || is_given("PGSSLMODE") ||
                          (find(used, "sslmode") != "prefer" && !find(used, "sslmode").empty());
  if (!mode_given && !all_local(used)) put(words_, "sslmode", "verify-full");
  const bool full = find(words_, "sslmode") == "verify-full" || find(used, "sslmode") == "verify-full";
  if (full && find(used, "sslrootcert").empty()) {
    std::string path = own_certificates();
    if (path.empty()) path = system_certificates();
    if (!path.empty()) put(words_, "sslrootcert", std::move(path));
  }
  // Of several servers the one that takes writes.
  const bool several = find(used, "host").find(',') != std::string::npos;
  if (several && find(used, "target_session_attrs") == "any")
    put(words_, "target_session_attrs", "read-write");
  // Encryption by Kerberos only where it is asked for: to look whether it could be had takes longer than all
  // the rest, and its library is gone at exit, when a thread that was left behind may still be connecting.
  const std::string kerberos = find(used, "gssencmode");
  if (!is_given("PGGSSENCMODE") && find(words_, "gssencmode").empty() && kerberos == "prefer")
    put(words_, "gssencmode", "disable");
  // A line that went dead is noticed within seconds, and not after the two hours of the system.
  for (const auto& [name, value] : line_checks) {
    if (is_known(name) && find(used, name).empty()) put(words_, name, value);
  }
  put(words_, "client_encoding", "UTF8");
  put(words_, "fallback_application_name", "holdfast");

  if (const std::string port = find(words_, "port"); !port.empty())
    put(used, "port", port);
  else if (is_given("PGPORT"))
    put(used, "port", std::getenv("PGPORT"));
  else
    std::erase_if(used, [](const auto& word) { return word.first == "port"; });
  if (auto status = check_words(used); !status) return status;
  if (const std::string secret = find(used, "password"); !secret.empty()) secrets_.push_back(secret);
  const std::string mode = find(words_, "sslmode").empty() ? find(used, "sslmode") : find(words_, "sslmode");
  verifies_ = mode.starts_with("verify-");
  name_ = name_from(used);
  database_ = find(used, "dbname");
  return Status{};
}

std::string Settings::shown(std::string_view text) const {
  std::string out(text);
  for (const std::string& secret : secrets_) {
    for (std::size_t at = secret.empty() ? std::string::npos : out.find(secret); at != std::string::npos;
         at = out.find(secret, at + 3))
      out.replace(at, secret.size(), "***");
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  for (std::size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at))
    out.replace(at, std::min(out.find_first_not_of("\n\t ", at), out.size()) - at, "; ");
  return printable(out);
}

}  // namespace holdfast::postgres
