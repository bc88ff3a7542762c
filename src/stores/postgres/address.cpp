// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/address.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace holdfast::postgres {
namespace {

constexpr const char* modes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};

// An empty one is the usual one.
bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text.empty() ||
         (failed == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536);
}

bool is_path(const std::string& host) { return host.empty() || host.front() == '/' || host.front() == '@'; }

// As it stands in a URL.
std::string host_and_port(const std::string& host, const std::string& port) {
  const bool brackets = host.find(':') != std::string::npos;
  std::string text = brackets ? "[" + host + "]" : host;
  if (!port.empty() && port != "5432") text += ":" + port;
  return text;
}

std::string hosts_with_ports(const std::vector<std::string>& hosts, const std::vector<std::string>& ports) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    // One port is for all of them.
    const std::string port = ports.size() == 1 ? ports[0] : i < ports.size() ? ports[i] : "";
    text += (i == 0 ? "" : ",") + host_and_port(hosts[i], port);
  }
  return text;
}

}  // namespace

std::string find(const Words& words, std::string_view name) {
  const auto word = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.first == name; });
  return word == words.end() ? "" : word->second;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    parts.emplace_back(list.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

Error unreadable_address() {
  return {Errc::invalid,
          "invalid PostgreSQL URL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and in a user or "
          "password %40 for @, %2F for /, %3F for ?, %25 for %"};
}

Status check_address(std::string_view conninfo) {
  const std::size_t slashes = conninfo.find("://");
  const std::string_view scheme = conninfo.substr(0, slashes);
  if (slashes == std::string_view::npos || (scheme != "postgres" && scheme != "postgresql")) return Status{};
  std::string_view rest = conninfo.substr(slashes + 3);
  rest = rest.substr(0, rest.find('?'));
  const std::size_t at = rest.find('@');
  const bool behind_slash = at != std::string_view::npos && rest.find('/') < at;
  if (behind_slash || at != rest.rfind('@')) return unreadable_address();
  return Status{};
}

Status check_words(const Words& words) {
  const auto ports = split(find(words, "port"));
  // It may be the beginning of a password: HOST:PORT is what is left of USER:PASSWORD@HOST that has a ? in
  // it.
  if (!std::all_of(ports.begin(), ports.end(), is_port)) {
    return Error{
        Errc::invalid,
        "invalid PostgreSQL URL: the port is not a number from 1 to 65535; write "
        "postgres://USER:PASSWORD@HOST:PORT/DATABASE, and in a password %3F for ?, %40 for @, %2F for /"};
  }
  const std::string mode = find(words, "sslmode");
  if (mode.empty() || std::find(std::begin(modes), std::end(modes), mode) != std::end(modes)) return Status{};
  return Error{Errc::invalid,
               "sslmode=" + printable(mode) +
                   ": invalid value; write disable, allow, prefer, require, verify-ca or verify-full"};
}

std::string name_from(const Words& words) {
  std::string host = find(words, "host");
  if (host.empty()) host = find(words, "hostaddr");
  const std::string user = find(words, "user"), port = find(words, "port");
  const auto hosts = split(host), ports = split(port);
  std::string name = "postgres://" + user + (user.empty() ? "" : "@");
  const bool in_parameters = std::any_of(hosts.begin(), hosts.end(), is_path);
  name += in_parameters ? host_and_port("", hosts.size() == 1 ? port : "") : hosts_with_ports(hosts, ports);
  name += "/" + find(words, "dbname");
  if (in_parameters && !host.empty()) name += "?host=" + host;
  if (hosts.size() > 1 && in_parameters && !port.empty()) name += "&port=" + port;
  return printable(name);
}

}  // namespace holdfast::postgres
