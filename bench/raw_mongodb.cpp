// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_mongodb.h"

#include <mutex>
#include <stdexcept>

#include "base/time.h"

namespace holdfast::bench {
namespace {

constexpr const char* database = "app";
constexpr const char* collection = "locks";
constexpr std::int64_t ttl_ms = 30'000;

[[noreturn]] void mongodb_failed(const std::string& why) { throw std::runtime_error("by hand: " + why); }

// By this machine's clock, as everybody does it.
std::int64_t now_ms() {
  return std::chrono::floor<std::chrono::milliseconds>(wall_now().time_since_epoch()).count();
}

// What is free, or ours, or has run out.
Bson free_or_mine(const std::string& key, const std::string& owner, std::int64_t now) {
  return Bson(BCON_NEW("_id", BCON_UTF8(key.c_str()), "$or", "[", "{", "owner", BCON_NULL, "}", "{", "owner",
                       BCON_UTF8(owner.c_str()), "}", "{", "expires_at", "{", "$lt", BCON_DATE_TIME(now), "}",
                       "}", "]"));
}

Bson taken(const std::string& owner, std::int64_t now) {
  return Bson(BCON_NEW("$set", "{", "owner", BCON_UTF8(owner.c_str()), "expires_at",
                       BCON_DATE_TIME(now + ttl_ms), "}", "$inc", "{", "token", BCON_INT64(1), "}"));
}

Bson given_back() { return Bson(BCON_NEW("$set", "{", "owner", BCON_NULL, "}")); }

void append(const Bson& array, std::size_t index, const Bson& update) {
  const std::string name = std::to_string(index);
  bson_append_document(array.get(), name.c_str(), static_cast<int>(name.size()), update.get());
}

}  // namespace

bson_iter_t Bson::at(const char* path) const {
  bson_iter_t whole, found;
  if (!bson_iter_init(&whole, made_) || !bson_iter_find_descendant(&whole, path, &found))
    mongodb_failed(std::string("the answer has no ") + path);
  return found;
}

std::int64_t Bson::number(const char* path) const {
  const bson_iter_t found = at(path);
  return bson_iter_as_int64(&found);
}

std::string Bson::text(const char* path) const {
  const bson_iter_t found = at(path);
  const char* const text = bson_iter_utf8(&found, nullptr);
  return text == nullptr ? "" : text;
}

bool Bson::has(const char* path) const {
  bson_iter_t whole, found;
  return bson_iter_init(&whole, made_) && bson_iter_find_descendant(&whole, path, &found);
}

std::size_t Bson::count(const char* path) const {
  const bson_iter_t found = at(path);
  bson_iter_t inside;
  std::size_t count = 0;
  if (bson_iter_recurse(&found, &inside))
    while (bson_iter_next(&inside)) ++count;
  return count;
}

MongoConnection::MongoConnection(const std::string& url) {
  static std::once_flag once;
  std::call_once(once, mongoc_init);
  client_.reset(mongoc_client_new(url.c_str()));
  if (client_ == nullptr) mongodb_failed(url + " is no URL of MongoDB");
}

Bson MongoConnection::ask(Bson command) {
  Bson reply(bson_new());
  bson_error_t error;
  bson_t answer;  // which the call makes in any case
  const bool done =
      mongoc_client_command_simple(client_.get(), database, command.get(), nullptr, &answer, &error);
  bson_concat(reply.get(), &answer);
  bson_destroy(&answer);
  if (!done) mongodb_failed(error.message);
  return reply;
}

RawMongo::RawMongo(const std::string& url, Concern concern)
    : connection_(url),
      concern_(concern == Concern::journalled ? BCON_NEW("w", BCON_INT32(1), "j", BCON_BOOL(true))
                                              : BCON_NEW("w", BCON_INT32(1), "j", BCON_BOOL(false))) {}

void RawMongo::acquire_and_release(const std::string& key, const std::string& owner) {
  const std::int64_t now = now_ms();
  const Bson granted = connection_.ask(Bson(BCON_NEW(
      "findAndModify", BCON_UTF8(collection), "query", BCON_DOCUMENT(free_or_mine(key, owner, now).get()),
      "update", BCON_DOCUMENT(taken(owner, now).get()), "fields", "{", "token", BCON_INT32(1), "}", "upsert",
      BCON_BOOL(true), "new", BCON_BOOL(true), "writeConcern", BCON_DOCUMENT(concern_.get()))));
  const std::int64_t token = granted.number("value.token");
  const Bson released = connection_.ask(Bson(BCON_NEW(
      "findAndModify", BCON_UTF8(collection), "query", "{", "_id", BCON_UTF8(key.c_str()), "owner",
      BCON_UTF8(owner.c_str()), "token", BCON_INT64(token), "}", "update", BCON_DOCUMENT(given_back().get()),
      "fields", "{", "token", BCON_INT32(1), "}", "writeConcern", BCON_DOCUMENT(concern_.get()))));
  if (released.number("value.token") != token) mongodb_failed(key + " was not released");
}

void RawMongo::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) {
  const std::int64_t now = now_ms();
  Bson acquires(bson_new()), releases(bson_new());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    append(acquires, i,
           Bson(BCON_NEW("q", BCON_DOCUMENT(free_or_mine(keys[i], owner, now).get()), "u",
                         BCON_DOCUMENT(taken(owner, now).get()), "upsert", BCON_BOOL(true))));
    append(releases, i,
           Bson(BCON_NEW("q", "{", "_id", BCON_UTF8(keys[i].c_str()), "owner", BCON_UTF8(owner.c_str()), "}",
                         "u", BCON_DOCUMENT(given_back().get()))));
  }
  update_all(std::move(acquires), keys.size());
  update_all(std::move(releases), keys.size());
}

void RawMongo::update_all(Bson updates, std::size_t count) {
  const Bson done =
      connection_.ask(Bson(BCON_NEW("update", BCON_UTF8(collection), "updates", BCON_ARRAY(updates.get()),
                                    "writeConcern", BCON_DOCUMENT(concern_.get()))));
  if (done.number("n") != static_cast<std::int64_t>(count)) mongodb_failed("not all were changed");
}

bool RawMongo::is_held(const std::string& key) {
  const Bson found = connection_.ask(
      Bson(BCON_NEW("find", BCON_UTF8(collection), "filter", "{", "_id", BCON_UTF8(key.c_str()), "owner", "{",
                    "$ne", BCON_NULL, "}", "}", "limit", BCON_INT32(1))));
  return found.has("cursor.firstBatch.0");
}

void RawMongo::ask() { connection_.ask(Bson(BCON_NEW("ping", BCON_INT32(1)))); }

}  // namespace holdfast::bench
