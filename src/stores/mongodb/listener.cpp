// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/listener.h"

#include <sys/eventfd.h>

#include <atomic>
#include <mutex>

#include "base/fd.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

constexpr Millis look_up = 500ms;  // so often the listener looks whether it is still wanted
constexpr Millis after_failure = 2s;
// The driver would wait for five minutes; a connection that somebody on the way has forgotten never answers.
constexpr Millis longest_answer = 3s;

// A release writes whom it notifies: leases.json.
Document rings_of(const std::string& client) {
  Document match;
  match.document("updateDescription.updatedFields.ring",
                 std::move(Document().text("$regex", "^" + client + " ")));
  std::vector<Document> stages;
  stages.push_back(std::move(Document().document("$match", match)));
  return std::move(Document().array("pipeline", stages));
}

}  // namespace

struct MongoListener::Heard {
  void add(std::string_view key) {
    const std::lock_guard lock(mutex);
    keys.emplace_back(key);
    eventfd_write(fd.get(), 1);
  }

  const Fd fd{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::atomic<bool> over = false;
  Wakeup pause;
  std::mutex mutex;
  std::vector<std::string> keys;  // "": anything may have happened
};

MongoListener::MongoListener(std::shared_ptr<const StoreConfig> config) : heard_(std::make_shared<Heard>()) {
  listener_ = Worker([config = std::move(config), heard = heard_] {
    while (!heard->over) {
      listen(config, *heard);
      if (!heard->over) heard->pause.wait(clamped_add(BootClock::now(), after_failure));
    }
  });
}

MongoListener::~MongoListener() {
  heard_->over = true;
  heard_->pause.ring();
  listener_.finish(2 * look_up);
}

int MongoListener::fd() const noexcept { return heard_->fd.get(); }

void MongoListener::listen(const std::shared_ptr<const StoreConfig>& config, Heard& heard) {
  try {
    Connection connection(config);
    const std::unique_ptr<mongoc_collection_t, decltype(mongoc_collection_destroy)> collection(
        mongoc_client_get_collection(connection.client(), config->database.c_str(), config->leases().c_str()),
        mongoc_collection_destroy);
    const Document pipeline = rings_of(config->client);
    const Document options = std::move(Document().number("maxAwaitTimeMS", look_up.count()));
    connection.set_limit(BootClock::now() + longest_answer);
    const std::unique_ptr<mongoc_change_stream_t, decltype(mongoc_change_stream_destroy)> stream(
        mongoc_collection_watch(collection.get(), &pipeline.get(), &options.get()),
        mongoc_change_stream_destroy);
    const bson_t* event = nullptr;
    const bson_t* reply = nullptr;
    bson_error_t error{};
    if (mongoc_change_stream_error_document(stream.get(), &error, &reply)) return;
    heard.add("");  // what rang before, while nobody listened, is lost
    while (!heard.over && !mongoc_change_stream_error_document(stream.get(), &error, &reply)) {
      connection.set_limit(BootClock::now() + look_up + longest_answer);
      if (mongoc_change_stream_next(stream.get(), &event)) heard.add(View(*event)["documentKey"].text("_id"));
    }
  } catch (const std::exception&) {
    // The waiters' own looks stand behind it.
  }
}

Result<std::vector<std::string>> MongoListener::ready() {
  eventfd_t count = 0;
  eventfd_read(heard_->fd.get(), &count);
  const std::lock_guard lock(heard_->mutex);
  std::vector<std::string> keys = std::exchange(heard_->keys, {});
  if (std::find(keys.begin(), keys.end(), "") != keys.end()) keys.clear();
  return keys;
}

}  // namespace holdfast::mongodb
