// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "base/process.h"
#include "base/time.h"
#include "cli/see/describe.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

Json millis(Millis duration) { return duration == never ? Json() : Json(duration.count()); }

Json host_of(const std::string& owner) {
  const auto where = whereabouts(owner);
  return where ? Json(where->host) : Json();
}

Json pid_of(const std::string& owner) {
  const auto where = whereabouts(owner);
  const auto pid = where ? whole_number<std::uint64_t>(where->pid) : std::nullopt;
  return pid ? Json(*pid) : Json();
}

Json object_of(const LeaseRow& row) {
  const auto held = held_for(row, wall_now());
  return {{"key", row.key},
          {"owner", row.owner},
          {"token", token_of(row.token)},
          {"remaining_ms", millis(row.remaining)},
          {"ttl_ms", row.ttl ? millis(*row.ttl) : Json()},
          {"since_us", row.since ? micros_of(*row.since) : Json()},
          {"held_for_ms", held ? Json(held->count()) : Json()},
          {"note", row.note},
          {"detached", row.detached},
          {"waiting", row.waiting},
          {"host", host_of(row.owner)},
          {"pid", pid_of(row.owner)}};
}

Json object_of(const PlaceRow& row) {
  return {{"key", row.key},
          {"client", row.client},
          {"owner", row.owner},
          {"remaining_ms", millis(row.remaining)}};
}

Json object_of(const LogRow& row) {
  return {{"at_us", micros_of(row.at)},   {"key", row.key}, {"event", row.event},  {"owner", row.owner},
          {"token", token_of(row.token)}, {"by", row.by},   {"reason", row.reason}};
}

template <class Row>
Json array_of(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) array.push_back(object_of(row));
  return array;
}

}  // namespace

std::string line_of(const Json& json) {
  constexpr bool as_ascii = true;
  return json.dump(-1, ' ', as_ascii, Json::error_handler_t::replace);
}

Json micros_of(Moment moment) { return moment.time_since_epoch().count(); }
Json token_of(Token token) { return token == no_token ? Json() : Json(to_number(token)); }

std::string json_of(const LeaseRow& row) { return line_of(object_of(row)); }

std::string json_of(const Inspection& found) {
  Json json = object_of(found.lease);
  json["places"] = array_of(found.places);
  json["log"] = array_of(found.log);
  return line_of(json);
}

std::string json_of(const Snapshot& snapshot) {
  return line_of({{"at_us", micros_of(snapshot.at)}, {"leases", array_of(snapshot.leases)}});
}

std::string json_of(const Change& change) {
  return line_of({{"at_us", micros_of(change.at)},
                  {"event", to_string(change.event)},
                  {"key", change.key},
                  {"owner", change.owner},
                  {"token", token_of(change.token)},
                  {"by", change.by},
                  {"remaining_ms", millis(change.remaining)},
                  {"waiting", change.waiting},
                  {"detail", change.detail}});
}

std::string json_of(const Purged& purged) {
  return line_of({{"keys", purged.keys}, {"places", purged.places}, {"log", purged.log}});
}

std::string json_of(const Lease& lease) {
  return line_of({{"key", lease.key()},
                  {"owner", lease.owner()},
                  {"token", to_number(lease.token())},
                  {"remaining_ms", millis(lease.remaining())},
                  {"attempts", lease.attempts()}});
}

std::string json_of_renewal(const std::string& key, const std::string& owner, Millis remaining) {
  return line_of({{"key", key}, {"owner", owner}, {"remaining_ms", millis(remaining)}});
}

std::string json_of_texts(const std::vector<std::pair<std::string, std::string>>& fields) {
  Json json = Json::object();
  for (const auto& [name, value] : fields) json[name] = value;
  return line_of(json);
}

}  // namespace holdfast::cli
