// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/probe.h"

#include "base/text.h"
#include "core/findings.h"
#include "core/table_version.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

constexpr std::int64_t wire_of_5_0 = 13;

std::string about(const StoreConfig& config) {
  return config.place + ": the collection \"" + printable(config.leases()) + "\" ";
}

Document described(Connection& connection, const std::string& name, Instant until) {
  Document command;
  command.number("listCollections", 1).document("filter", Document().text("name", name));
  return connection.run(std::move(command), Effect::reads, until);
}

std::string vanishing_index(Connection& connection, Instant until) {
  const StoreConfig& config = connection.config();
  const Document reply =
      connection.run(std::move(Document().text("listIndexes", config.leases())), Effect::reads, until);
  for (const View index : documents_in(reply))
    if (index.has("expireAfterSeconds")) return std::string(index.text("name"));
  return {};
}

// For engines whose hello does not have it.
Micros evaluated_time(Connection& connection, Instant until) {
  Document command = Document::from_json(
      R"({"aggregate": 1, "pipeline": [{"$documents": [{"now": "$$NOW"}]}], "cursor": {}})");
  const Document reply = connection.run(std::move(command), Effect::reads, until);
  for (const View answer : documents_in(reply))
    if (const auto now = answer.moment("now")) return *now;
  throw_failure({Errc::unavailable, connection.config().place + ": the server does not return its time"});
}

// The driver follows what the servers call members, wherever the URL pointed.
std::string member_elsewhere(Connection& connection) {
  std::size_t count = 0;
  mongoc_server_description_t** members = mongoc_client_get_server_descriptions(connection.client(), &count);
  std::string found;
  for (std::size_t i = 0; i < count; ++i) {
    const mongoc_host_list_t& host = *mongoc_server_description_host(members[i]);
    if (!is_this_machine(host)) found = printable(host.host_and_port);
  }
  mongoc_server_descriptions_destroy_all(members, count);
  return found;
}

}  // namespace

// Keys are compared byte by byte, and stay where they are.
std::optional<std::string> oddity_of(Connection& connection, const std::string& collection, Instant until) {
  const Document reply = described(connection, collection, until);
  for (const View found : documents_in(reply)) {
    if (found.text("type") != "collection") return "is a " + printable(found.text("type"));
    const View options = found["options"];
    if (options["collation"])
      return "has a collation (" + printable(options["collation"].text("locale")) +
             "), which can make two keys equal";
    return options.flag("capped") ? "is capped, so MongoDB deletes old documents" : "";
  }
  return std::nullopt;
}

bool collection_exists(Connection& connection, const std::string& name, Instant until) {
  const Document reply = described(connection, name, until);
  return !documents_in(reply).empty();
}

Micros server_time(Connection& connection, Instant until) {
  if (const auto fixed = connection.config().fixed_now) return *fixed;
  const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until);
  const auto now = View(reply).moment("localTime");
  return now ? *now : evaluated_time(connection, until);
}

void read_state(Connection& connection, ServerProbe& probe, Instant until) {
  Document which;
  which.document("_id", Document().texts("$in", {"purged", "version"}));
  const Document reply =
      connection.run(find_command(connection.config().remains(), which, {}, 2), Effect::reads, until);
  for (const View state : documents_in(reply)) {
    if (state.text("_id") == "purged") probe.purged = state.number("token");
    if (state.text("_id") == "version") probe.needs = state.number("needs");
  }
}

ServerProbe read_hello(Connection& connection, Instant until) {
  ServerProbe probe;
  probe.sent = BootClock::now();
  const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until);
  const View hello(reply);
  const auto now = hello.moment("localTime");
  probe.now = now ? *now : evaluated_time(connection, until);
  probe.received = BootClock::now();
  probe.set = hello.text("setName");
  probe.router = hello.text("msg") == "isdbgrid";
  probe.old = hello.number("maxWireVersion") < wire_of_5_0;
  probe.secondary = !hello.flag("isWritablePrimary");
  probe.elsewhere = member_elsewhere(connection);
  connection.set_standalone(!probe.streams());
  return probe;
}

void read_collection(Connection& connection, ServerProbe& probe, Instant until) {
  const auto oddity = oddity_of(connection, connection.config().leases(), until);
  probe.has_collection = oddity.has_value();
  probe.odd = oddity.value_or("");
  if (oddity && oddity->empty()) probe.vanishing_index = vanishing_index(connection, until);
}

ServerProbe probe_server(Connection& connection, Instant until) {
  const StoreConfig& config = connection.config();
  ServerProbe probe = read_hello(connection, until);
  if (probe.old) throw_failure({Errc::refused, config.place + about_age + "; upgrade it"});
  if (probe.secondary)
    throw_failure({Errc::unavailable,
                   config.place + " is not the primary; name the whole replica set with replicaSet="});
  read_collection(connection, probe, until);
  require_safe(probe, config);
  read_state(connection, probe, until);
  if (probe.needs > core::table_version)
    throw_failure({Errc::refused, config.place + ": the collection \"" + printable(config.leases()) + "\"" +
                                      core::newer_tables(probe.needs)});
  return probe;
}

void require_safe(const ServerProbe& probe, const StoreConfig& config) {
  if (!probe.odd.empty())
    throw_failure({Errc::refused, about(config) + probe.odd + "; name another one with collection="});
  if (probe.router && !config.accepted().covers("mongodb.router"))
    throw_failure(
        {Errc::refused,
         config.place + " is a router: " + about_router +
             "; use the URL of a replica set, or add accept=mongodb.router to this one at your own risk"});
  if (!probe.vanishing_index.empty() && !config.accepted().covers("mongodb.ttl-index"))
    throw_failure({Errc::refused, about(config) + "cannot be used: " + about_index(probe.vanishing_index) +
                                      "; drop it, name another collection, or add accept=mongodb.ttl-index "
                                      "to the URL at your own risk"});
}

Traits traits_of(const ServerProbe& probe, const StoreConfig& config) {
  Traits traits{.name = "mongodb", .resolution = Millis(1), .push = probe.streams(), .grade = Grade::B};
  traits.findings = findings_of(probe, config);
  traits.grade = grade_of(Grade::B, traits.findings);
  return traits;
}

}  // namespace holdfast::mongodb
