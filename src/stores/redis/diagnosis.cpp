// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/diagnosis.h"

#include <cctype>
#include <utility>

#include "base/text.h"
#include "core/findings.h"
#include "stores/redis/fault.h"
#include "stores/redis/findings.h"
#include "stores/redis/keys.h"
#include "stores/redis/script.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {
namespace {

// Some proxies send each command somewhere else.
constexpr int times_asked_who = 20;
constexpr int connections = 4;  // besides: an address may lead to several servers in turn

constexpr int most_pages = 10;
constexpr int keys_a_page = 1000;

constexpr const char* settings[] = {"appendfsync", "maxmemory-clients", "protected-mode", "bind"};

// As *.lua, link.cpp and listener.cpp use them.  LEASE is the key of one, BESIDE what lies beside it,
// BELL a channel.
constexpr std::string_view for_leases[] = {"evalsha 0 1 LEASE",
                                           "time",
                                           "get LEASE",
                                           "set LEASE v",
                                           "del LEASE BESIDE",
                                           "exists LEASE",
                                           "type LEASE",
                                           "pttl LEASE",
                                           "pexpire LEASE 1",
                                           "persist LEASE",
                                           "expireat BESIDE 1",
                                           "hmget BESIDE f",
                                           "hget BESIDE f",
                                           "hset BESIDE f v",
                                           "hdel BESIDE f",
                                           "hincrby BESIDE f 1",
                                           "zadd BESIDE 1 m",
                                           "zrem BESIDE m",
                                           "zcard BESIDE",
                                           "zcount BESIDE 0 1",
                                           "zrange BESIDE 0 1",
                                           "zrangebylex BESIDE - +",
                                           "zrangebyscore BESIDE 0 1",
                                           "zrank BESIDE m",
                                           "zscore BESIDE m",
                                           "xadd BESIDE * f v",
                                           "xrevrange BESIDE + -",
                                           "xtrim BESIDE MINID 0",
                                           "publish BELL m",
                                           "subscribe BELL"};
constexpr std::string_view for_jobs[] = {"incr BESIDE", "hgetall BESIDE", "zrevrangebyscore BESIDE 1 0"};
constexpr std::string_view for_nobody = "flushall";

std::vector<std::string> words_of(std::string_view command, const Naming& naming) {
  const std::string lease = naming.prefix() + "doctor";
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

struct Asked {
  std::string_view command;
  std::vector<std::string>* lacks;  // where it goes if it is forbidden; null: nobody needs it
};

std::vector<Asked> asked(const StoreConfig& config, Facts& facts) {
  std::vector<Asked> all;
  for (const std::string_view command : for_leases) all.push_back({command, &facts.lacks});
  if (config.options.db != 0) all.push_back({"select 1", &facts.lacks});
  for (const std::string_view command : for_jobs) all.push_back({command, &facts.lacks_for_jobs});
  all.push_back({for_nobody, nullptr});
  return all;
}

void ask_rights(Wire& wire, const std::vector<Asked>& all, const StoreConfig& config) {
  std::vector<std::string> words;
  for (const Asked& one : all) {
    const auto command = words_of(one.command, config.naming);
    words.push_back(std::to_string(command.size()));
    words.insert(words.end(), command.begin(), command.end());
  }
  Command eval = wire.command(3 + words.size());
  eval.word("EVAL").word(text(Lua::check_rights)).word("0");
  for (const std::string& word : words) eval.word(word);
}

bool is_forbidden(const Value& answer) { return answer.is_error() && answer.text().starts_with("NOPERM"); }

void read_rights(const Value& answer, const std::vector<Asked>& all, const StoreConfig& config,
                 Facts& facts) {
  if (is_forbidden(answer)) {
    facts.lacks.emplace_back("eval");
    return;
  }
  if (answer.is_error() || answer.is_nil()) {
    facts.unseen.push_back("doctor cannot see which rights the user has: " +
                           (answer.is_error()
                                ? to_error(answer.text(), config).detail
                                : std::string("the server is older than Redis 7.0, which tells it")));
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool forbidden = answer[i].number() == 1;
    if (all[i].lacks && forbidden) all[i].lacks->push_back(name_of(all[i].command));
    if (!all[i].lacks) facts.almighty = !forbidden;
  }
}

void read_setting(const Value& answer, const std::string& name, Facts& facts) {
  if (answer.is_error() || answer.size() < 2) return;
  const std::string value(answer[1].text());
  if (name == "appendfsync") facts.appendfsync = value;
  if (name == "maxmemory-clients") facts.maxmemory_clients = value;
  if (name == "protected-mode") facts.protected_mode = value;
  if (name == "bind") facts.bind = value;
}

void meet_others(const std::shared_ptr<const StoreConfig>& config, Instant enough, Instant until,
                 Facts& facts) {
  try {
    for (int i = 0; i < connections && BootClock::now() < enough; ++i) {
      Wire another(config, until, false);
      another.command(2).word("INFO").word("server");
      another.send(until);
      another.check_welcome(until);
      const Answer told = another.receive(until);
      if (!told->is_error()) facts.run_ids.emplace_back(ServerInfo(told->text())["run_id"]);
    }
  } catch (const Failure& failure) {
    facts.crowded = failure.error().detail;
  }
}

// As SCAN reads it.
std::string pattern_of(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

// Of one page of keys.
void count_others(Wire& wire, const Value& keys, const StoreConfig& config, Instant until, Facts& facts) {
  std::vector<std::string> names;  // without the prefix
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys[i].text().substr(config.naming.prefix().size());
    if (!config.naming.reserved(key)) names.emplace_back(key);
  }
  const auto add = [&](Command& command) {
    for (const std::string& name : names) {
      const LeaseNames lease(config.naming, name);
      lease.add_lease(command);
      lease.add(command, Beside::facts);
    }
  };
  const Answer others = run(wire, config, Lua::find_other_data, 2 * names.size(), 0, add, until);
  if (others->is_error()) return;
  facts.others += others->size();
  if (others->size() > 0) facts.other = names[static_cast<std::size_t>((*others)[0].number())];
}

// Who may not look counts none.  A server has far more keys of others than leases: a part of them will do.
void look_for_others(const std::shared_ptr<const StoreConfig>& config, Instant enough, Instant until,
                     Facts& facts) {
  if (config->options.layout != Layout::own) return;
  try {
    Wire wire(config, until, true);
    std::string cursor = "0";
    bool welcome = false;
    for (int page = 0; page < most_pages && BootClock::now() < enough; ++page) {
      Command scan = wire.command(8);
      scan.word("SCAN").word(cursor).word("MATCH").word(pattern_of(config->naming.prefix()));
      scan.word("COUNT").number(keys_a_page).word("TYPE").word("string");
      wire.send(until);
      if (!std::exchange(welcome, true)) wire.check_welcome(until);
      const Answer scanned = wire.receive(until);
      if (scanned->is_error()) return;
      cursor = (*scanned)[0].text();
      count_others(wire, (*scanned)[1], *config, until, facts);
      if (cursor == "0") return;
    }
    facts.others_counted = false;
  } catch (const Failure&) {
    facts.others_counted = false;
  }
}

// A server that wants no password takes any (AUTH default x).
void try_the_door(const StoreConfig& config, Instant until, Facts& facts) {
  if (config.options.password.empty()) return;
  Options nobody = config.options;
  nobody.user.clear();
  nobody.password.clear();
  try {
    Wire stranger(std::make_shared<const StoreConfig>(std::move(nobody), config.tls, config.client), until,
                  false);
    stranger.command(1).word("PING");
    stranger.send(until);
    stranger.check_welcome(until);
    facts.unlocked = stranger.receive(until)->text() == "PONG";
  } catch (const Failure&) {  // it is locked
  }
}

}  // namespace

Diagnosis look_closely(const std::shared_ptr<const StoreConfig>& config, Instant until) {
  const Instant enough = core::repeat_until(BootClock::now(), until);
  Wire wire(config, until, false);
  Facts facts;
  const std::vector<Asked> rights = asked(*config, facts);
  wire.command(1).word("INFO");
  for (const char* setting : settings) wire.command(3).word("CONFIG").word("GET").word(setting);
  ask_rights(wire, rights, *config);
  for (int i = 0; i < times_asked_who; ++i) wire.command(2).word("INFO").word("server");
  wire.send(until);

  wire.check_welcome(until);
  const Answer told = wire.receive(until);
  if (is_forbidden(*told))
    facts.lacks.emplace_back("info");
  else if (told->is_error())
    throw_failure(to_error(told->text(), *config));
  const ServerInfo info(told->is_error() ? "" : told->text());
  for (const char* setting : settings) {
    const Answer answer = wire.receive(until);
    read_setting(*answer, setting, facts);
    if (answer->is_error() && setting == settings[0])
      facts.unseen.push_back("doctor cannot see how often the server writes to disk, nor where it listens: " +
                             to_error(answer->text(), *config).detail);
  }
  read_rights(*wire.receive(until), rights, *config, facts);
  for (int i = 0; i < times_asked_who; ++i) {
    const Answer again = wire.receive(until);
    if (!again->is_error()) facts.run_ids.emplace_back(ServerInfo(again->text())["run_id"]);
  }
  meet_others(config, enough, until, facts);
  look_for_others(config, enough, until, facts);
  try_the_door(*config, until, facts);
  return diagnosis_of(info, facts, *config);
}

}  // namespace holdfast::redis
