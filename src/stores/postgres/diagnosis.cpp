// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/diagnosis.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/fd.h"
#include "core/findings.h"
#include "stores/postgres/findings.h"

namespace holdfast::postgres {
namespace {

using namespace std::chrono_literals;

constexpr int questions = 20;   // on one connection: a pooler hands them to whoever is free
constexpr int connections = 4;  // besides: an address may lead to several servers in turn
constexpr Millis longest_echo = 2s;

// What a client needs, as docs/stores/postgres.md grants it.
constexpr std::pair<const char*, const char*> needed[] = {{"{locks}", "SELECT,INSERT,UPDATE"},
                                                          {"{waiters}", "SELECT,INSERT,UPDATE,DELETE"},
                                                          {"{facts}", "SELECT,INSERT,UPDATE"},
                                                          {"{log}", "SELECT,INSERT"},
                                                          {"{state}", "SELECT"},
                                                          {"{shedlock}", "SELECT,INSERT,UPDATE"}};

class Diagnosing {
 public:
  Diagnosing(const StoreConfig& config, Instant until)
      : config_(config),
        until_(until),
        enough_(core::repeat_until(BootClock::now(), until)),
        connection_(config.settings, until),
        probe_{.tables = config.tables} {}

  Diagnosis run() {
    const bool inside = may_enter();
    if (inside) probe_ = probe_server(connection_, config_.tables, until_);
    Parameters none;
    const Server server = server_in(ask(connection_, std::string(text(Sql::examine_server)), none));
    look_deeper();
    look_at_way();
    Diagnosis diagnosis{.server = name_in(server.version), .findings = findings_of(server, probe_)};
    for (Finding& finding : findings_of(depth_, probe_, config_.name())) {
      // Who may not look does not know what is missing.
      if (inside || (finding.topic != "postgres.tables" && finding.topic != "postgres.columns"))
        diagnosis.findings.push_back(std::move(finding));
    }
    diagnosis.grade = grade_of(Grade::B, diagnosis.findings);
    core::mark_accepted(diagnosis.findings, config_.accepted);
    return diagnosis;
  }

 private:
  Answer ask(Connection& connection, const std::string& sql, Parameters& parameters) const {
    Answer answer = connection.run(sql, parameters, until_);
    if (answer.trouble()) throw_failure(statement_error(*answer.trouble(), config_.name()));
    return answer;
  }

  // The same where nothing of somebody else's is in sight, and nothing stays behind for the next one who is
  // given this connection by a pooler.
  Answer ask_alone(Sql sql, Parameters& parameters) {
    Statement path{"", "SET LOCAL search_path = pg_catalog"}, question{"", std::string(text(sql))};
    Parameters none;
    const std::array<Step, 2> steps{Step{path, none}, Step{question, parameters}};
    std::vector<Answer> answers = connection_.run(steps, until_);
    if (answers.back().trouble()) throw_failure(statement_error(*answers.back().trouble(), config_.name()));
    return std::move(answers.back());
  }

  // To look for a table in a schema that one may not enter is an error.
  bool may_enter() {
    if (config_.tables.schema().empty()) return true;
    Parameters schema;
    schema.text(config_.tables.schema());
    const Answer answer = ask_alone(Sql::schema_privilege, schema);
    if (answer.rows() == 0) return true;
    depth_.grants.emplace_back(answer.text(0, 0));
    return false;
  }

  void look_deeper() {
    Parameters none, parameters;
    const Answer path = ask(connection_, std::string(text(Sql::search_path)), none);
    const bool inside = depth_.grants.empty();
    const std::string table = inside ? probe_.tables.quoted() : "";
    const std::string theirs =
        inside && probe_.tables.beside_shedlock() ? probe_.tables.expand("{shedlock}") : "";
    inside ? parameters.text(table) : parameters.nothing();
    parameters.texts();
    for (const char* word : {"waiters", "facts", "log", "state"}) parameters.add(probe_.tables.beside(word));
    parameters.texts();
    std::string before;
    for (int i = 0; i < path.rows(); ++i) {
      parameters.add(path.text(i, 0));
      if (path.text(i, 0) == "pg_catalog") depth_.before_catalog = std::exchange(before, {});
      before += (before.empty() ? "" : ", ") + std::string(path.text(i, 0));
    }
    parameters.texts();
    for (const char* word : {"jobs", "ticks"}) parameters.add(probe_.tables.beside(word));
    theirs.empty() ? parameters.nothing() : parameters.text(theirs);
    const Answer answer = ask_alone(Sql::diagnose, parameters);
    depth_.synchronous_commit = answer.text(0, 0);
    depth_.superuser = answer.flag(0, 1);
    if (!answer.is_null(0, 2)) depth_.fillfactor = answer.number(0, 2);
    depth_.dead = answer.number(0, 3);
    depth_.live = answer.number(0, 4);
    depth_.unlogged = answer.text(0, 5);
    depth_.writable = answer.text(0, 6);
    depth_.namesakes = answer.number(0, 7);
    depth_.aurora = answer.flag(0, 8);
    depth_.several_primaries = answer.flag(0, 9);
    depth_.strangers = answer.text(0, 10);
    depth_.theirs = answer.text(0, 11);
    depth_.hooks = answer.text(0, 12);
    depth_.filtered = answer.text(0, 13);
    depth_.no_tables = answer.text(0, 14);
    if (inside) look_at_privileges();
  }

  void look_at_privileges() {
    std::vector<std::string> tables;
    Parameters parameters;
    parameters.texts();
    const auto is_there = [&](std::string_view word) {
      const auto& missing = probe_.missing;
      if (word == "{shedlock}" && !probe_.tables.beside_shedlock()) return false;
      return word == "{locks}" ? probe_.table
                               : std::find(missing.begin(), missing.end(), word.substr(1, word.size() - 2)) ==
                                     missing.end();
    };
    for (const auto& [word, privileges] : needed)
      if (is_there(word)) parameters.add(probe_.tables.expand(word));
    parameters.texts();
    for (const auto& [word, privileges] : needed)
      if (is_there(word)) parameters.add(privileges);
    const Answer answer = ask_alone(Sql::privileges, parameters);
    for (int i = 0; i < answer.rows(); ++i) depth_.grants.emplace_back(answer.text(i, 0));
  }

  void look_at_way() {
    depth_.far = !connection_.is_local();
    depth_.in_tls = connection_.in_tls();
    depth_.verified = config_.settings.verifies();
    std::set<std::string> processes, servers;
    const auto who = [&](Connection& connection) {
      Parameters none;
      const Answer answer = ask(connection, std::string(text(Sql::who_answers)), none);
      servers.emplace(answer.text(0, 1));
      return std::string(answer.text(0, 0));
    };
    for (int i = 0; i < questions && (i == 0 || in_time()); ++i) processes.insert(who(connection_));
    if (processes.size() > 1) probe_.pooled = true;
    try {
      for (int i = 0; i < connections && in_time(); ++i) {
        Connection another(config_.settings, until_);
        (void)who(another);
      }
    } catch (const Failure& failure) {
      depth_.crowded = failure.error().detail;
    }
    depth_.servers = servers.size();
    // A standby takes no LISTEN, and behind a pooler nobody relies on it.
    depth_.hears = probe_.pooled || probe_.standby || !depth_.crowded.empty() || !in_time() || echoes();
  }

  bool in_time() const { return BootClock::now() < enough_; }

  // What one connection notifies another one hears.
  bool echoes() {
    try {
      Connection listening(config_.settings, until_), telling(config_.settings, until_);
      return hears(listening, telling);
    } catch (const Failure& failure) {
      depth_.crowded = failure.error().detail;
      return true;
    }
  }

  bool hears(Connection& listening, Connection& telling) const {
    const Instant end = std::min(until_, BootClock::now() + longest_echo);
    const std::string channel = "holdfast_doctor_" + config_.client;
    try {
      Parameters none;
      if (listening.run("LISTEN " + channel, none, end).trouble()) return false;
      if (telling.run("NOTIFY " + channel, none, end).trouble()) return false;
      std::vector<std::string> heard;
      while (heard.empty()) {
        if (!listening.take_notices(heard)) return false;
        if (heard.empty() && !await(listening.fd(), POLLIN, end)) return false;
      }
      return true;
    } catch (const Failure&) {
      return false;
    }
  }

  const StoreConfig& config_;
  const Instant until_;
  const Instant enough_;  // then nothing is asked again only to be sure
  Connection connection_;
  ServerProbe probe_;
  Depth depth_;
};

}  // namespace

Diagnosis diagnose(const StoreConfig& config, Instant until) { return Diagnosing(config, until).run(); }

}  // namespace holdfast::postgres
