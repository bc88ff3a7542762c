// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/diagnosis.h"

#include <algorithm>

#include "core/findings.h"
#include "stores/mongodb/answers.h"
#include "stores/mongodb/findings.h"
#include "stores/mongodb/rights.h"

namespace holdfast::mongodb {
namespace {

// Some proxies send each command somewhere else.
constexpr int times_asked_who = 20;
constexpr int connections = 4;  // besides: an address may lead to several servers in turn

constexpr std::int64_t no_such_collection = 26, not_allowed = 13;

// Asks one after the other, and writes down what was told.
class Look {
 public:
  Look(Connection& connection, Instant until)
      : connection_(connection), until_(until), enough_(core::repeat_until(BootClock::now(), until)) {}

  Diagnosis all() {
    probe_ = greet(connection_, until_);
    facts_.clocks = clocks();
    who_answers();
    collections();
    read("the version", "buildInfo", [&](View told) { facts_.version = told.text("version"); });
    read("the engine", "serverStatus", [&](View told) { read_server_status(told, facts_); });
    read("the user's rights", Document().number("connectionStatus", 1).flag("showPrivileges", true),
         [&](View told) { read_rights(told, probe_, connection_.config(), facts_); });
    read("where it listens", "getCmdLineOpts", [&](View told) { read_command_line(told, facts_); });
    if (!probe_.set.empty())
      read("the set's configuration", "replSetGetConfig", [&](View told) { read_set(told, facts_); });
    if (probe_.streams())
      read("the default write concern", "getDefaultRWConcern",
           [&](View told) { read_default_concern(told, facts_); });
    return diagnosis_of(probe_, facts_, connection_.config());
  }

 private:
  // What the server refuses is not told; what never reached it is a failure.
  template <class Do>
  bool told(Do ask) {
    try {
      ask();
      return true;
    } catch (const Failure&) {
      if (connection_.last_code() == 0) throw;
      return false;
    }
  }
  template <class Read>
  void read(const char* what, const Document& command, Read from) {
    const bool heard = told([&] {
      const Document reply =
          connection_.run_in("admin", Document::copy_of(View(command)), Effect::reads, until_);
      from(View(reply));
    });
    if (!heard) facts_.unseen.emplace_back(what);
  }
  template <class Read>
  void read(const char* what, const char* command, Read from) {
    read(what, Document().number(command, 1), from);
  }

  // What the driver has been told by each member while it looked for the primary, and when.
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

  void who_answers() {
    const auto ask = [&](Connection& connection) {
      const Document reply = connection.run(std::move(Document().number("hello", 1)), Effect::reads, until_);
      read_probe(View(reply), facts_);
    };
    const auto in_time = [&] { return BootClock::now() < enough_; };
    for (int i = 0; i < times_asked_who && (i == 0 || in_time()); ++i) ask(connection_);
    if (probe_.router) return;  // of those there may be several, as mongodb.router tells
    try {
      for (int i = 0; i < connections && in_time(); ++i) {
        Connection another(connection_.shared_config());
        ask(another);
      }
    } catch (const Failure& failure) {
      facts_.crowded = failure.error().detail;
    }
  }

  void collections() {
    const StoreConfig& config = connection_.config();
    facts_.let_in = told([&] { look_at_collection(connection_, probe_, until_); });
    if (!facts_.let_in && connection_.last_code() == not_allowed)
      facts_.lacks.push_back("listCollections and listIndexes on " + config.database);
    else if (!facts_.let_in)
      facts_.unseen.emplace_back("the collections");
    if (!facts_.let_in) return;
    if (config.beside_the_gem()) {
      told([&] { facts_.odd_gem = oddity_of(connection_, config.options.collection, until_).value_or(""); });
      // The gem has a TTL index of its own, on documents that have run out.
      indexes(config.options.collection, nullptr, &facts_.unique);
    }
    indexes(config.leases(), nullptr, &facts_.unique);
    indexes(config.remains(), &facts_.vanishing, nullptr);
    indexes(config.jobs(), &facts_.vanishing, nullptr);
    indexes(config.ticks(), &facts_.vanishing, nullptr);
    if (probe_.router)
      told([&] {
        const Document reply =
            connection_.run(std::move(Document().text("collStats", config.leases())), Effect::reads, until_);
        facts_.sharded = View(reply).flag("sharded");
      });
  }

  void indexes(const std::string& collection, std::vector<std::string>* vanishing,
               std::vector<std::string>* unique) {
    const bool heard = told([&] {
      const Document reply =
          connection_.run(std::move(Document().text("listIndexes", collection)), Effect::reads, until_);
      for (const View index : View(reply)["cursor"].documents("firstBatch")) {
        const std::string name = collection + "." + std::string(index.text("name"));
        if (vanishing && index.has("expireAfterSeconds")) vanishing->push_back(name);
        if (unique && index.flag("unique")) unique->push_back(name);
      }
    });
    if (!heard && connection_.last_code() != no_such_collection)
      facts_.unseen.push_back("the indexes of " + collection);
  }

  Connection& connection_;
  const Instant until_;
  const Instant enough_;  // then nothing is asked again only to be sure
  ServerProbe probe_;
  Facts facts_;
};

}  // namespace

Diagnosis look_closely(Connection& connection, Instant until) { return Look(connection, until).all(); }

}  // namespace holdfast::mongodb
