// SPDX-License-Identifier: Apache-2.0
// Reads everything that findings can be about, for doctor.
#include <algorithm>

#include "base/url.h"
#include "core/findings.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

// -- what a user may do

constexpr const char* on_documents[] = {"find", "insert", "update", "remove", "listIndexes"};

constexpr std::string_view far_reaching[] = {"root",
                                             "__system",
                                             "dbOwner",
                                             "userAdmin",
                                             "clusterAdmin",
                                             "readWriteAnyDatabase",
                                             "dbAdminAnyDatabase",
                                             "userAdminAnyDatabase"};

// One that is granted for a whole database names no collection; for all databases, no database.
bool covers(View resource, std::string_view database, std::string_view collection) {
  if (resource.flag("anyResource")) return true;
  if (!resource.has("db")) return false;  // of the cluster
  const std::string_view of_database = resource.text("db"), of_collection = resource.text("collection");
  return (of_database.empty() || of_database == database) &&
         (of_collection.empty() || of_collection == collection);
}

bool may(View authority, std::string_view action, std::string_view database, std::string_view collection) {
  for (const View privilege : authority.documents("authenticatedUserPrivileges")) {
    if (!covers(privilege["resource"], database, collection)) continue;
    const auto actions = privilege.texts("actions");
    if (std::find(actions.begin(), actions.end(), action) != actions.end()) return true;
  }
  return false;
}

// -- the commands

// Some proxies send each command to another server.
constexpr int hellos = 20;
constexpr int connections = 4;  // besides: an address may lead to several servers in turn

constexpr std::int64_t no_such_collection = 26, not_allowed = 13;

// Sends one command after the other, and collects what the server answers.
class Examination {
 public:
  Examination(Connection& connection, Instant until)
      : connection_(connection), until_(until), enough_(core::repeat_until(BootClock::now(), until)) {}

  Diagnosis all() {
    probe_ = read_hello(connection_, until_);
    facts_.clocks = clocks();
    find_processes();
    collections();
    read("the version", "buildInfo", [&](View reply) { facts_.version = reply.text("version"); });
    read("the engine", "serverStatus", [&](View reply) { read_server_status(reply, facts_); });
    read("the user's rights", Document().number("connectionStatus", 1).flag("showPrivileges", true),
         [&](View reply) { read_rights(reply, probe_, connection_.config(), facts_); });
    read("where it listens", "getCmdLineOpts", [&](View reply) { read_command_line(reply, facts_); });
    if (!probe_.set.empty())
      read("the set's configuration", "replSetGetConfig", [&](View reply) { read_set(reply, facts_); });
    if (probe_.streams())
      read("the default write concern", "getDefaultRWConcern",
           [&](View reply) { read_default_concern(reply, facts_); });
    return diagnosis_of(probe_, facts_, connection_.config());
  }

 private:
  // False: the server refused it.  Throws Failure if nobody answered.
  template <class Do>
  bool answered(Do send) {
    try {
      send();
      return true;
    } catch (const Failure&) {
      if (connection_.last_code() == 0) throw;
      return false;
    }
  }
  template <class Read>
  void read(const char* what, const Document& command, Read from) {
    const bool good = answered([&] {
      const Document reply =
          connection_.run_in("admin", Document::copy_of(View(command)), Effect::reads, until_);
      from(View(reply));
    });
    if (!good) facts_.unseen.emplace_back(what);
  }
  template <class Read>
  void read(const char* what, const char* command, Read from) {
    read(what, Document().number(command, 1), from);
  }

  // From what each member has answered to the driver while it looked for the primary.
  std::vector<Clock> clocks() {
    std::vector<Clock> all;
    std::size_t count = 0;
    mongoc_server_description_t** members =
        mongoc_client_get_server_descriptions(connection_.client(), &count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto now = View(*mongoc_server_description_hello_response(members[i])).moment("localTime");
      if (!now) continue;
      all.push_back({.member = mongoc_server_description_host(members[i])->host_and_port,
                     .ahead = *now - Micros(mongoc_server_description_last_update_time(members[i])),
                     .or_more = Millis(
                         std::max<std::int64_t>(mongoc_server_description_round_trip_time(members[i]), 0))});
    }
    mongoc_server_descriptions_destroy_all(members, count);
    return all;
  }

  void find_processes() {
    const auto send_hello = [&](Connection& connection) {
      const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until_);
      read_probe(View(reply), facts_);
    };
    const auto in_time = [&] { return BootClock::now() < enough_; };
    for (int i = 0; i < hellos && (i == 0 || in_time()); ++i) send_hello(connection_);
    if (probe_.router) return;  // there may be several: mongodb.router says that
    try {
      for (int i = 0; i < connections && in_time(); ++i) {
        Connection another(connection_.shared_config());
        send_hello(another);
      }
    } catch (const Failure& failure) {
      facts_.crowded = failure.error().detail;
    }
  }

  void collections() {
    const StoreConfig& config = connection_.config();
    facts_.let_in = answered([&] { read_collection(connection_, probe_, until_); });
    if (!facts_.let_in && connection_.last_code() == not_allowed)
      facts_.lacks.push_back("listCollections and listIndexes on " + config.database);
    else if (!facts_.let_in)
      facts_.unseen.emplace_back("the collections");
    if (!facts_.let_in) return;
    if (config.beside_the_gem()) {
      answered(
          [&] { facts_.odd_gem = oddity_of(connection_, config.options.collection, until_).value_or(""); });
      // The gem has a TTL index of its own, on documents that have run out.
      indexes(config.options.collection, nullptr, &facts_.unique);
    }
    indexes(config.leases(), nullptr, &facts_.unique);
    indexes(config.remains(), &facts_.vanishing, nullptr);
    indexes(config.jobs(), &facts_.vanishing, nullptr);
    indexes(config.ticks(), &facts_.vanishing, nullptr);
    if (probe_.router)
      answered([&] {
        const Document reply =
            connection_.run(std::move(Document().text("collStats", config.leases())), Effect::reads, until_);
        facts_.sharded = View(reply).flag("sharded");
      });
  }

  void indexes(const std::string& collection, std::vector<std::string>* vanishing,
               std::vector<std::string>* unique) {
    const bool good = answered([&] {
      const Document reply =
          connection_.run(std::move(Document().text("listIndexes", collection)), Effect::reads, until_);
      for (const View index : documents_in(reply)) {
        const std::string name = collection + "." + std::string(index.text("name"));
        if (vanishing && index.has("expireAfterSeconds")) vanishing->push_back(name);
        if (unique && index.flag("unique")) unique->push_back(name);
      }
    });
    if (!good && connection_.last_code() != no_such_collection)
      facts_.unseen.push_back("the indexes of " + collection);
  }

  Connection& connection_;
  const Instant until_;
  const Instant enough_;  // after that no command is repeated only to be sure
  ServerProbe probe_;
  Facts facts_;
};

}  // namespace

void read_probe(View answer, Facts& facts) {
  facts.arbiters.clear();
  for (const std::string_view arbiter : answer.texts("arbiters")) facts.arbiters.emplace_back(arbiter);
  facts.processes.emplace_back(answer["topologyVersion"].object_id("processId"));
}

void read_server_status(View answer, Facts& facts) {
  const View engine = answer["storageEngine"];
  const bool forgets = engine.has("persistent") && !engine.flag("persistent");
  if (forgets || engine.text("name") == "inMemory") facts.engine = engine.text("name");
}

void read_command_line(View answer, Facts& facts) {
  const View net = answer["parsed"]["net"], security = answer["parsed"]["security"];
  bool to_others = net.flag("bindIpAll");
  for (std::string_view rest = net.text("bindIp"); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    to_others = to_others || (!one.empty() && one.front() != '/' && !is_local(one));
  }
  // A key file for the members switches users on as well.
  const bool knows_users = security.text("authorization") == "enabled" || !security.text("keyFile").empty();
  facts.open = to_others && !knows_users;
}

void read_set(View answer, Facts& facts) {
  constexpr const char* journaled = "writeConcernMajorityJournalDefault";
  const View settings = answer["config"];
  facts.unjournaled = settings.has(journaled) && !settings.flag(journaled);
}

// w is a number of members, "majority", or a name for some of them.  If there is none and the source is
// implicit, the set has arbiters, and one member confirms.
void read_default_concern(View answer, Facts& facts) {
  const View concern = answer["defaultWriteConcern"];
  if (concern.has("w"))
    facts.weak_default = concern.text("w").empty() && concern.number("w") <= 1;
  else
    facts.weak_default = answer.text("defaultWriteConcernSource") == "implicit";
}

void read_rights(View status, const ServerProbe& probe, const StoreConfig& config, Facts& facts) {
  const View authority = status["authInfo"];
  if (authority.documents("authenticatedUsers").empty()) return;
  const auto need = [&](std::string_view action, const std::string& collection,
                        std::vector<std::string>& lacks) {
    if (!may(authority, action, config.database, collection))
      lacks.push_back(std::string(action) + " on " + config.database +
                      (collection.empty() ? "" : "." + collection));
  };
  need("listCollections", "", facts.lacks);
  std::vector<std::string> collections{config.leases(), config.remains()};
  if (config.beside_the_gem()) collections.push_back(config.options.collection);
  for (const std::string& collection : collections)
    for (const char* action : on_documents) need(action, collection, facts.lacks);
  if (probe.streams()) need("changeStream", config.leases(), facts.lacks);
  if (config.keeps_jobs())
    for (const std::string& collection : {config.jobs(), config.ticks()})
      for (const char* action : on_documents) need(action, collection, facts.lacks_for_jobs);
  for (const View role : authority.documents("authenticatedUserRoles")) {
    const std::string_view name = role.text("role");
    if (std::find(std::begin(far_reaching), std::end(far_reaching), name) != std::end(far_reaching))
      facts.powers.emplace_back(name);
  }
}

Diagnosis diagnose(Connection& connection, Instant until) { return Examination(connection, until).all(); }

}  // namespace holdfast::mongodb
