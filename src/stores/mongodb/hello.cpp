// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/hello.h"

#include "base/text.h"

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

// Keys are compared byte by byte, and stay where they are.  False: there is no such collection yet.
bool require_plain(Connection& connection, Instant until) {
  const Site& site = connection.site();
  const Document reply = described(connection, site.leases(), until);
  const auto found = View(reply)["cursor"].documents("firstBatch");
  for (const View collection : found) {
    if (collection.text("type") != "collection")
      raise({Errc::refused, about(site) + "is a " + printable(collection.text("type")) +
                                "; name another one with collection="});
    const View options = collection["options"];
    if (options["collation"])
      raise({Errc::refused, about(site) + "has a collation (" +
                                printable(options["collation"].text("locale")) +
                                "), by which two keys could be one; name another one with collection="});
    if (options.flag("capped"))
      raise({Errc::refused, about(site) + "is capped and forgets; name another one with collection="});
  }
  return !found.empty();
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

std::string about_index(const std::string& name) {
  return "the index " + printable(name) +
         " lets documents vanish by themselves, and tokens with them: they could fall";
}

constexpr const char* about_router =
    "behind mongos the router's clock decides, and two of them may differ: a lease can end early";

}  // namespace

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

Hello say_hello(Connection& connection, Instant until) {
  const Site& site = connection.site();
  Hello hello;
  hello.asked = BootClock::now();
  const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until);
  const View told(reply);
  const auto now = told.moment("localTime");
  hello.now = now ? *now : evaluated_time(connection, until);
  hello.answered = BootClock::now();
  hello.set = told.text("setName");
  hello.router = told.text("msg") == "isdbgrid";
  connection.told(!hello.streams());
  if (told.number("maxWireVersion") < wire_of_5_0)
    raise({Errc::refused, site.place + " is older than MongoDB 5.0, the first that can do what leases need"});
  if (!told.flag("isWritablePrimary"))
    raise({Errc::unavailable, site.place + " is not the primary; name the whole set with replicaSet="});
  if (require_plain(connection, until)) hello.vanishing_index = vanishing_index(connection, until);
  require_safe(hello, site);
  hello.purged = purged_token(connection, until);
  return hello;
}

void require_safe(const Hello& hello, const Site& site) {
  if (site.options.allow_unsafe) return;
  if (hello.router)
    raise({Errc::refused, site.place + " is a router: " + about_router +
                              "; name a replica set of its own (unsafe=allow uses it all the same)"});
  if (!hello.vanishing_index.empty())
    raise({Errc::refused, about(site) + "cannot be used: " + about_index(hello.vanishing_index) +
                              "; drop it, or name another collection (unsafe=allow uses it all the same)"});
}

Traits traits_of(const Hello& hello, const Site& site) {
  Traits traits{.name = "mongodb", .resolution = Millis(1), .push = hello.streams(), .grade = 'B'};
  const auto warn = [&](std::string text) { traits.warnings.push_back(std::move(text)); };
  if (!hello.vanishing_index.empty()) {
    traits.grade = 'D';
    warn(about_index(hello.vanishing_index));
  }
  if (hello.router) {
    traits.grade = 'D';
    warn(about_router);
  }
  if (!hello.streams())
    traits.findings.push_back(
        "the server stands alone: a majority is this one, its disk is all there is, and waiters have to ask "
        "again and again, as only a replica set tells them");
  if (site.beside_the_gem()) {
    traits.grade = traits.grade == 'D' ? 'D' : 'C';
    traits.findings.push_back(
        "layout=mongo-lock: a Ruby process may insert its document beside ours at the same moment, extend "
        "ours "
        "as its own, or delete all; docs/stores/mongodb.md tells more");
  }
  traits.findings.insert(traits.findings.end(), traits.warnings.begin(), traits.warnings.end());
  if (site.options.allow_unsafe) traits.warnings.clear();
  return traits;
}

}  // namespace holdfast::mongodb
