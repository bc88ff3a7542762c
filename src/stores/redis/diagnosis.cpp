// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/text.h"
#include "core/findings.h"
#include "stores/redis/admin.h"
#include "stores/redis/connection.h"
#include "stores/redis/fault.h"
#include "stores/redis/findings.h"

namespace holdfast::redis {
namespace {

// Some proxies send each command somewhere else.
constexpr int times_identified = 20;
constexpr int connections = 4;  // besides: an address may lead to several servers in turn

constexpr int most_pages = 10;
constexpr int keys_a_page = 1000;

struct Setting {
  const char* name;
  std::string Depth::*value;
};
constexpr Setting settings[] = {{"appendfsync", &Depth::appendfsync},
                                {"maxmemory-clients", &Depth::maxmemory_clients},
                                {"protected-mode", &Depth::protected_mode},
                                {"bind", &Depth::bind}};

// Commands as *.lua, session.cpp and listener.cpp use them.  LEASE is a key with a lease, BESIDE a key beside
// it, BELL a channel.
// clang-format off
constexpr std::string_view for_leases[] = {
    "evalsha 0 1 LEASE", "time", "get LEASE", "set LEASE v", "del LEASE BESIDE", "exists LEASE",
    "type LEASE", "pttl LEASE", "pexpire LEASE 1", "persist LEASE", "expireat BESIDE 1",
    "hmget BESIDE f", "hget BESIDE f", "hset BESIDE f v", "hdel BESIDE f", "hincrby BESIDE f 1",
    "zadd BESIDE 1 m", "zrem BESIDE m", "zcard BESIDE", "zcount BESIDE 0 1", "zrange BESIDE 0 1",
    "zrangebylex BESIDE - +", "zrangebyscore BESIDE 0 1", "zrank BESIDE m", "zscore BESIDE m",
    "xadd BESIDE * f v", "xrevrange BESIDE + -", "xtrim BESIDE MINID 0", "publish BELL m",
    "subscribe BELL"};
// clang-format on
constexpr std::string_view for_jobs[] = {"incr BESIDE", "hgetall BESIDE", "zrevrangebyscore BESIDE 1 0"};
constexpr std::string_view for_nobody = "flushall";

std::vector<std::string> words_of(std::string_view command, const Naming& naming) {
  const std::string lease = naming.prefix + "doctor";
  std::vector<std::string> words;
  while (!command.empty()) {
    const std::string_view word = command.substr(0, command.find(' '));
    command.remove_prefix(std::min(word.size() + 1, command.size()));
    if (word == "LEASE")
      words.push_back(lease);
    else if (word == "BESIDE")
      words.push_back("holdfast:facts:{" + lease + "}");
    else if (word == "BELL")
      words.emplace_back("holdfast:bell:doctor");
    else
      words.emplace_back(word);
  }
  return words;
}

std::string name_of(std::string_view command) { return std::string(command.substr(0, command.find(' '))); }

struct NeededRight {
  std::string_view command;
  std::vector<std::string>* lacks;  // where it goes if it is forbidden; null: nobody needs it
};

std::vector<NeededRight> needed_rights(const StoreConfig& config, Depth& depth) {
  std::vector<NeededRight> all;
  for (const std::string_view command : for_leases) all.push_back({command, &depth.lacks});
  if (config.options.db != 0) all.push_back({"select 1", &depth.lacks});
  for (const std::string_view command : for_jobs) all.push_back({command, &depth.lacks_for_jobs});
  all.push_back({for_nobody, nullptr});
  return all;
}

void add_rights_check(Connection& connection, const std::vector<NeededRight>& all,
                      const StoreConfig& config) {
  std::vector<std::string> words;
  for (const NeededRight& one : all) {
    const auto command = words_of(one.command, config.naming);
    words.push_back(std::to_string(command.size()));
    words.insert(words.end(), command.begin(), command.end());
  }
  Command eval = connection.command(3 + words.size());
  eval.word("EVAL").word(text(Lua::check_rights)).word("0");
  for (const std::string& word : words) eval.word(word);
}

bool is_forbidden(const Value& answer) { return answer.is_error() && answer.text().starts_with("NOPERM"); }

void read_rights(const Value& answer, const std::vector<NeededRight>& all, const StoreConfig& config,
                 Depth& depth) {
  if (is_forbidden(answer)) {
    depth.lacks.emplace_back("eval");
    return;
  }
  if (answer.is_error() || answer.is_nil()) {
    depth.unseen_rights = answer.is_error() ? to_error(answer.text(), config).detail
                                            : "the server is older than Redis 7.0 and cannot report them";
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool forbidden = answer[i].number() == 1;
    if (all[i].lacks && forbidden) all[i].lacks->push_back(name_of(all[i].command));
    if (!all[i].lacks) depth.may_delete_all = !forbidden;
  }
}

void add_run_id(const Answer& info, Depth& depth) {
  if (!info.is_error()) depth.run_ids.emplace_back(ServerInfo(info.text())["run_id"]);
}

void connect_again(const std::shared_ptr<const StoreConfig>& config, Instant enough, Instant until,
                   Depth& depth) {
  try {
    for (int i = 0; i < connections && BootClock::now() < enough; ++i) {
      Connection another(config, until, false);
      another.add("INFO", "server");
      another.send(until);
      another.check_login(until);
      add_run_id(another.receive(until), depth);
    }
  } catch (const Failure& failure) {
    depth.connection_refused = failure.error().detail;
  }
}

// A pattern as SCAN takes it.
std::string pattern_of(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

// Counts in one page of keys.
void count_other_data_in(Connection& connection, const Value& keys, const StoreConfig& config, Instant until,
                         Depth& depth) {
  std::vector<std::string> names;  // without the prefix
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys[i].text().substr(config.naming.prefix.size());
    if (!config.naming.reserved(key)) names.emplace_back(key);
  }
  const auto add = [&](Command& command) {
    for (const std::string& name : names) {
      LeaseNames(config.naming, name).add_lease(command).add(command, Beside::facts);
    }
  };
  const Answer found = connection.run(Lua::find_other_data, 2 * names.size(), 0, add, until);
  if (found.is_error()) return;
  depth.other_keys += found.size();
  if (found.size() > 0) depth.other_key = names[static_cast<std::size_t>(found[0].number())];
}

// A user who may not SCAN counts none.  A server has far more keys of others than leases: some pages are
// enough.
void count_other_data(const std::shared_ptr<const StoreConfig>& config, Instant enough, Instant until,
                      Depth& depth) {
  if (config->options.layout != Layout::own) return;
  try {
    Connection connection(config, until, true);
    std::string cursor = "0";
    bool logged_in = false;
    for (int page = 0; page < most_pages && BootClock::now() < enough; ++page) {
      connection.add("SCAN", cursor, "MATCH", pattern_of(config->naming.prefix), "COUNT",
                     std::to_string(keys_a_page), "TYPE", "string");
      connection.send(until);
      if (!std::exchange(logged_in, true)) connection.check_login(until);
      const Answer scanned = connection.receive(until);
      if (scanned.is_error()) return;
      cursor = scanned[0].text();
      count_other_data_in(connection, scanned[1], *config, until, depth);
      if (cursor == "0") return;
    }
    depth.counted_all = false;
  } catch (const Failure&) {
    depth.counted_all = false;
  }
}

// A server that requires no password accepts any (AUTH default x).
void try_without_password(const StoreConfig& config, Instant until, Depth& depth) {
  if (config.options.password.empty()) return;
  Options nobody = config.options;
  nobody.user.clear();
  nobody.password.clear();
  try {
    Connection anonymous(std::make_shared<const StoreConfig>(std::move(nobody), config.tls, config.client),
                         until, false);
    anonymous.add("PING");
    anonymous.send(until);
    anonymous.check_login(until);
    depth.lets_anyone_in = anonymous.receive(until).text() == "PONG";
  } catch (const Failure&) {  // it requires one
  }
}

}  // namespace

Diagnosis diagnose(const std::shared_ptr<const StoreConfig>& config, Instant until) {
  const Instant enough = core::repeat_until(BootClock::now(), until);
  Connection connection(config, until, false);
  Depth depth;
  const std::vector<NeededRight> rights = needed_rights(*config, depth);
  connection.add("INFO");
  for (const Setting& setting : settings) connection.add("CONFIG", "GET", setting.name);
  add_rights_check(connection, rights, *config);
  for (int i = 0; i < times_identified; ++i) connection.add("INFO", "server");
  connection.send(until);

  connection.check_login(until);
  const Answer info_answer = connection.receive(until);
  if (is_forbidden(info_answer))
    depth.lacks.emplace_back("info");
  else if (info_answer.is_error())
    throw_failure(to_error(info_answer.text(), *config));
  const ServerInfo info(info_answer.is_error() ? "" : info_answer.text());
  for (const Setting& setting : settings) {
    const Answer answer = connection.receive(until);
    if (!answer.is_error() && answer.size() >= 2) depth.*setting.value = answer[1].text();
    if (answer.is_error() && &setting == settings)
      depth.unseen_settings = to_error(answer.text(), *config).detail;
  }
  read_rights(connection.receive(until), rights, *config, depth);
  for (int i = 0; i < times_identified; ++i) add_run_id(connection.receive(until), depth);
  connect_again(config, enough, until, depth);
  count_other_data(config, enough, until, depth);
  try_without_password(*config, until, depth);
  return diagnosis_of(info, depth, *config);
}

}  // namespace holdfast::redis
