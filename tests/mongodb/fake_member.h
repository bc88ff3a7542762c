// SPDX-License-Identifier: Apache-2.0
// fake_member.h - a port at which a test answers as a member of a replica set, which no server here can be.
#pragma once
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stores/mongodb/bson.h"
#include "tests/support/listener.h"

namespace holdfast::test {

// The `hello` answer of a member of the set rs0.  It is the primary if `primary` is `me`.
inline std::string hello_of_set(const std::string& me, const std::string& primary,
                                const std::vector<std::string>& members) {
  const std::string first = me == primary ? "true" : "false", second = me == primary ? "false" : "true";
  std::string hosts;
  for (const std::string& member : members) hosts += (hosts.empty() ? "\"" : ", \"") + member + "\"";
  return R"({"ok": 1, "isWritablePrimary": )" + first + R"(, "ismaster": )" + first + R"(, "secondary": )" +
         second + R"(, "setName": "rs0", "setVersion": 1, "hosts": [)" + hosts + R"(], "primary": ")" +
         primary + R"(", "maxBsonObjectSize": 16777216, )" +
         R"("maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 1000, "minWireVersion": 0, )" +
         R"("maxWireVersion": 17, "localTime": {"$date": 1700000000000}})";
}

// Speaks as much of MongoDB's protocol as the driver needs: a message comes, a document goes back.
class FakeMember {
 public:
  // The answer to a command, in extended JSON; none: it never answers.
  using Answer = std::function<std::optional<std::string>(const std::string& message)>;

  explicit FakeMember(Answer answer) : answer_(std::move(answer)) {
    door_ = std::jthread([this] {
      while (Fd caller = listener_.accept()) {
        const std::lock_guard lock(mutex_);
        callers_.push_back(std::move(caller));
        talks_.emplace_back([this, &mine = callers_.back()] { talk(mine); });
      }
    });
  }
  ~FakeMember() {
    listener_.close();
    door_.join();
    for (const Fd& caller : callers_) ::shutdown(caller.get(), SHUT_RDWR);
    talks_.clear();
  }

  const std::string& place() const { return listener_.place(); }
  std::string port() const { return place().substr(place().rfind(':') + 1); }

  // Everything that was sent to it.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return callers_.size();
  }

 private:
  static constexpr std::size_t header = 16;
  static constexpr std::int32_t op_reply = 1, op_query = 2004, op_msg = 2013;

  static std::int32_t number_at(const std::string& bytes, std::size_t at) {
    std::int32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  }
  static std::string bytes_of(std::initializer_list<std::int32_t> numbers) {
    std::string bytes;
    for (const std::int32_t number : numbers)
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    return bytes;
  }

  void talk(const Fd& caller) {
    std::string log_cursor;
    while (true) {
      const std::string more = Listener::hear(caller);
      if (more.empty()) return;
      log_cursor += more;
      {
        const std::lock_guard lock(mutex_);
        heard_ += more;
      }
      while (log_cursor.size() >= header &&
             log_cursor.size() >= static_cast<std::size_t>(number_at(log_cursor, 0))) {
        const auto size = static_cast<std::size_t>(number_at(log_cursor, 0));
        const std::string message = log_cursor.substr(0, size);
        log_cursor.erase(0, size);
        if (const auto json = answer_(message)) Listener::say(caller, reply_to(message, *json));
      }
    }
  }

  static std::string reply_to(const std::string& message, const std::string& json) {
    const mongodb::Document document = mongodb::Document::from_json(json);
    const bson_t& bson = document.get();
    const std::string body(reinterpret_cast<const char*>(mongodb::bson_get_data(&bson)), bson.len);
    const bool old = number_at(message, 12) == op_query;
    const std::string inside =
        (old ? bytes_of({0, 0, 0, 0, 1}) : bytes_of({0}) + std::string(1, '\0')) + body;
    return bytes_of({static_cast<std::int32_t>(header + inside.size()), 1, number_at(message, 4),
                     old ? op_reply : op_msg}) +
           inside;
  }

  const Answer answer_;
  const Listener listener_;
  mutable std::mutex mutex_;
  std::string heard_;
  std::list<Fd> callers_;
  std::list<std::jthread> talks_;
  std::jthread door_;
};

}  // namespace holdfast::test
