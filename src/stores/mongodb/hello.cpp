// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/hello.h"

#include "base/text.h"
#include "core/grade.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

constexpr std::int64_t wire_of_5_0 = 13;

std::string about(const Site& site) {
  return site.place + ": the collection \"" + printable(site.leases()) + "\" ";
}

Document described(Connection& connection, const std::string& name, Instant until) {
  Document command;
  command.number("listCollections", 1).document("filter", Document().text("name", name));
  return connection.run(std::move(command), Effect::reads, until);
}

std::string vanishing_index(Connection& connection, Instant until) {
  const Site& site = connection.site();
  const Document reply =
      connection.run(std::move(Document().text("listIndexes", site.leases())), Effect::reads, until);
  for (const View index : View(reply)["cursor"].documents("firstBatch"))
    if (index.has("expireAfterSeconds")) return std::string(index.text("name"));
  return {};
}

// For engines whose hello does not tell.
Micros evaluated_time(Connection& connection, Instant until) {
  Document command = Document::from_json(
      R"({"aggregate": 1, "pipeline": [{"$documents": [{"now": "$$NOW"}]}], "cursor": {}})");
  const Document reply = connection.run(std::move(command), Effect::reads, until);
  for (const View told : View(reply)["cursor"].documents("firstBatch"))
    if (const auto now = told.moment("now")) return *now;
  raise({Errc::unavailable, connection.site().place + " does not tell the time"});
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
  for (const View found : View(reply)["cursor"].documents("firstBatch")) {
    if (found.text("type") != "collection") return "is a " + printable(found.text("type"));
    const View options = found["options"];
    if (options["collation"])
      return "has a collation (" + printable(options["collation"].text("locale")) +
             "), by which two keys could be one";
    return options.flag("capped") ? "is capped and forgets" : "";
  }
  return std::nullopt;
}

bool collection_exists(Connection& connection, const std::string& name, Instant until) {
  const Document reply = described(connection, name, until);
  return !View(reply)["cursor"].documents("firstBatch").empty();
}

Micros server_time(Connection& connection, Instant until) {
  const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until);
  const auto now = View(reply).moment("localTime");
  return now ? *now : evaluated_time(connection, until);
}

std::int64_t purged_token(Connection& connection, Instant until) {
  Document command;
  command.text("find", connection.site().remains())
      .document("filter", Document().text("_id", "purged"))
      .flag("singleBatch", true);
  const Document reply = connection.run(std::move(command), Effect::reads, until);
  std::int64_t token = 0;
  for (const View state : View(reply)["cursor"].documents("firstBatch")) token = state.number("token");
  return token;
}

Hello greet(Connection& connection, Instant until) {
  Hello hello;
  hello.asked = BootClock::now();
  const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until);
  const View told(reply);
  const auto now = told.moment("localTime");
  hello.now = now ? *now : evaluated_time(connection, until);
  hello.answered = BootClock::now();
  hello.set = told.text("setName");
  hello.router = told.text("msg") == "isdbgrid";
  hello.old = told.number("maxWireVersion") < wire_of_5_0;
  hello.secondary = !told.flag("isWritablePrimary");
  hello.elsewhere = member_elsewhere(connection);
  connection.told(!hello.streams());
  return hello;
}

void look_at_collection(Connection& connection, Hello& hello, Instant until) {
  const auto oddity = oddity_of(connection, connection.site().leases(), until);
  hello.odd = oddity.value_or("");
  if (oddity && oddity->empty()) hello.vanishing_index = vanishing_index(connection, until);
}

Hello say_hello(Connection& connection, Instant until) {
  const Site& site = connection.site();
  Hello hello = greet(connection, until);
  if (hello.old) raise({Errc::refused, site.place + about_age});
  if (hello.secondary)
    raise({Errc::unavailable, site.place + " is not the primary; name the whole set with replicaSet="});
  look_at_collection(connection, hello, until);
  require_safe(hello, site);
  hello.purged = purged_token(connection, until);
  return hello;
}

void require_safe(const Hello& hello, const Site& site) {
  if (!hello.odd.empty())
    raise({Errc::refused, about(site) + hello.odd + "; name another one with collection="});
  if (hello.router && !site.accepted().covers("mongodb.router"))
    raise(
        {Errc::refused, site.place + " is a router: " + about_router +
                            "; name a replica set of its own (accept=mongodb.router uses it all the same)"});
  if (!hello.vanishing_index.empty() && !site.accepted().covers("mongodb.ttl-index"))
    raise({Errc::refused,
           about(site) + "cannot be used: " + about_index(hello.vanishing_index) +
               "; drop it, or name another collection (accept=mongodb.ttl-index uses it all the same)"});
}

Traits traits_of(const Hello& hello, const Site& site) {
  Traits traits{.name = "mongodb", .resolution = Millis(1), .push = hello.streams(), .grade = 'B'};
  traits.findings = findings_of(hello, site);
  traits.grade = core::grade_of('B', traits.findings);
  return traits;
}

}  // namespace holdfast::mongodb
