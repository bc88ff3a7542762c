// SPDX-License-Identifier: Apache-2.0
// Hears when a key may have become free: a change stream on a connection of its own.
//
// UNTESTED: there was no replica set to run it on.  tests/mongodb/listener_test.cpp runs where
// HOLDFAST_TEST_MONGODB names one.  A waiter also polls now and then, as on every store.
#include <sys/eventfd.h>

#include <atomic>
#include <mutex>

#include "base/fd.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

constexpr Millis stop_check = 500ms;  // how often the thread checks whether it has to stop
constexpr Millis pause_after_failure = 2s;
// The driver would wait for five minutes; a connection that a firewall has forgotten never answers.
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

// What the thread has received; shared, because a thread that hangs outlives the listener.
struct Heard {
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

void watch(const std::shared_ptr<const StoreConfig>& config, Heard& heard) {
  try {
    Connection connection(config);
    const std::unique_ptr<mongoc_collection_t, decltype(mongoc_collection_destroy)> collection(
        mongoc_client_get_collection(connection.client(), config->database.c_str(), config->leases().c_str()),
        mongoc_collection_destroy);
    const Document pipeline = rings_of(config->client);
    const Document options = std::move(Document().number("maxAwaitTimeMS", stop_check.count()));
    connection.set_limit(BootClock::now() + longest_answer);
    const std::unique_ptr<mongoc_change_stream_t, decltype(mongoc_change_stream_destroy)> stream(
        mongoc_collection_watch(collection.get(), &pipeline.get(), &options.get()),
        mongoc_change_stream_destroy);
    const bson_t* event = nullptr;
    const bson_t* reply = nullptr;
    bson_error_t error{};
    if (mongoc_change_stream_error_document(stream.get(), &error, &reply)) return;
    heard.add("");  // earlier notifications were missed
    while (!heard.over && !mongoc_change_stream_error_document(stream.get(), &error, &reply)) {
      connection.set_limit(BootClock::now() + stop_check + longest_answer);
      if (mongoc_change_stream_next(stream.get(), &event)) heard.add(View(*event)["documentKey"].text("_id"));
    }
  } catch (const std::exception&) {
    // The waiters poll meanwhile.
  }
}

class MongoListener final : public StoreListener {
 public:
  explicit MongoListener(std::shared_ptr<const StoreConfig> config) {
    listener_ = Worker([config = std::move(config), heard = heard_] {
      while (!heard->over) {
        watch(config, *heard);
        if (!heard->over) heard->pause.wait(clamped_add(BootClock::now(), pause_after_failure));
      }
    });
  }
  ~MongoListener() override {
    heard_->over = true;
    heard_->pause.ring();
    listener_.finish(2 * stop_check);
  }

  int fd() const noexcept override { return heard_->fd.get(); }

  Result<std::vector<std::string>> ready() override {
    eventfd_t count = 0;
    eventfd_read(heard_->fd.get(), &count);
    const std::lock_guard lock(heard_->mutex);
    std::vector<std::string> keys = std::exchange(heard_->keys, {});
    if (std::find(keys.begin(), keys.end(), "") != keys.end()) keys.clear();
    return keys;
  }

 private:
  const std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  Worker listener_;
};

}  // namespace

Result<std::unique_ptr<StoreListener>> MongoStoreConnection::listener(Instant) {
  std::unique_ptr<StoreListener> listener;
  if (probe_.streams()) listener = std::make_unique<MongoListener>(connection_.shared_config());
  return listener;
}

}  // namespace holdfast::mongodb
