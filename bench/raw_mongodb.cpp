// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_mongodb.h"

#include <mutex>
#include <stdexcept>

#include "base/wall_clock.h"

namespace holdfast::bench {
namespace {

using mongodb::Document;
using mongodb::View;
using namespace std::chrono_literals;

constexpr const char* database = "app";
constexpr const char* collection = "locks";

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error("by hand: " + why); }

// What is free, or ours, or has run out; by this machine's clock, as everybody does it.
Document free_or_mine(const std::string& key, const std::string& holder, Micros now) {
  std::vector<Document> any;
  any.emplace_back().null("owner");
  any.emplace_back().text("owner", holder);
  any.emplace_back().document("expires_at", Document().moment("$lt", now));
  Document query;
  query.text("_id", key).array("$or", any);
  return query;
}

Document taken(const std::string& holder, Micros now) {
  Document update;
  update.document("$set", Document().text("owner", holder).moment("expires_at", now + 30s))
      .document("$inc", Document().number("token", 1));
  return update;
}

Document given_back() {
  Document update;
  update.document("$set", Document().null("owner"));
  return update;
}

}  // namespace

MongoConnection::MongoConnection(const std::string& url) {
  static std::once_flag once;
  std::call_once(once, mongoc_init);
  client_.reset(mongoc_client_new(url.c_str()));
  if (client_ == nullptr) fail(url + " is no URL of MongoDB");
}

Document MongoConnection::ask(const Document& command) {
  Document reply;
  bson_error_t error;
  bson_destroy(&reply.raw());  // the call makes it in any case
  if (!mongoc_client_command_simple(client_.get(), database, &command.get(), nullptr, &reply.raw(), &error))
    fail(error.message);
  return reply;
}

RawMongo::RawMongo(const std::string& url, Concern concern) : connection_(url) {
  if (concern == Concern::journalled)
    concern_.text("w", "majority").flag("j", true);
  else
    concern_.number("w", 1).flag("j", false);
}

void RawMongo::acquire_and_release(const std::string& key, const std::string& holder) {
  const Micros now = wall_now();
  Document acquire;
  acquire.text("findAndModify", collection)
      .document("query", free_or_mine(key, holder, now))
      .document("update", taken(holder, now))
      .document("fields", Document().number("token", 1))
      .flag("upsert", true)
      .flag("new", true)
      .document("writeConcern", concern_);
  const Document granted = connection_.ask(acquire);
  Document release;
  release.text("findAndModify", collection)
      .document("query", Document()
                             .text("_id", key)
                             .text("owner", holder)
                             .number("token", View(granted)["value"].number("token")))
      .document("update", given_back())
      .document("fields", Document().number("token", 1))
      .document("writeConcern", concern_);
  if (!View(connection_.ask(release))["value"]) fail(key + " was not released");
}

void RawMongo::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& holder) {
  const Micros now = wall_now();
  std::vector<Document> acquires, releases;
  for (const std::string& key : keys) {
    acquires.emplace_back()
        .document("q", free_or_mine(key, holder, now))
        .document("u", taken(holder, now))
        .flag("upsert", true);
    releases.emplace_back()
        .document("q", Document().text("_id", key).text("owner", holder))
        .document("u", given_back());
  }
  update_all(std::move(acquires));
  update_all(std::move(releases));
}

void RawMongo::update_all(std::vector<Document> updates) {
  Document command;
  command.text("update", collection).array("updates", updates).document("writeConcern", concern_);
  const Document done = connection_.ask(command);
  if (View(done).number("n") != static_cast<std::int64_t>(updates.size())) fail("not all were changed");
}

bool RawMongo::is_held(const std::string& key) {
  Document find;
  find.text("find", collection)
      .document("filter", Document().text("_id", key).document("owner", Document().null("$ne")))
      .number("limit", 1);
  const Document found = connection_.ask(find);
  return !View(found)["cursor"].documents("firstBatch").empty();
}

void RawMongo::ask() { connection_.ask(std::move(Document().number("ping", 1))); }

}  // namespace holdfast::bench
