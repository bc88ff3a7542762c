// SPDX-License-Identifier: Apache-2.0
// connection.h - commands to the server and their answers, each with a deadline.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/clock.h"
#include "stores/mongodb/bson.h"
#include "stores/mongodb/config.h"
#include "stores/mongodb/fault.h"

namespace holdfast::mongodb {

// The deadline of a client's streams: the driver's own timeouts are the same for every call.
struct Deadline {
  Instant until = Instant::max();
  bool wrote = false;                          // something was sent since this was last false
  std::vector<mongoc_stream_t*> streams = {};  // all that are open; of a replica set one for each member

  // When a wait of that many milliseconds ends; negative: without end.
  Instant end_of(std::int32_t timeout) const noexcept;
  // None is open, or the other side has closed one.
  bool any_closed() const;
};

// A stream of the driver on a socket.  `deadline` outlives it.  Without a socket it is one that is broken:
// all that is done with it fails at once.
mongoc_stream_t* stream_on(Fd socket, Deadline& deadline);

// Throws Failure.  Used by one thread at a time.  After a failure the next command goes over a new
// connection.
class Connection {
 public:
  explicit Connection(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // In the configured database.  A write is answered when a majority of the replica set has it in its
  // journal.  A standalone server that is asked for a majority only begins to write its journal (seen with
  // kill -9), so it is asked for w: 1.
  Document run(Document command, Effect effect, Instant until) {
    return run_in(config_->database, std::move(command), effect, until);
  }
  // In another database.
  Document run_in(const std::string& database, Document command, Effect effect, Instant until);

  // Whether the server is in no replica set.
  void set_standalone(bool standalone) noexcept { standalone_ = standalone; }

  // There is no connection: it failed, or the server has closed it.
  bool closed();
  void close() noexcept { client_.reset(); }
  // After an error with that code: the next primary has another clock, which has to be read again.
  void close_if_gone(std::int64_t code) noexcept {
    if (is_departure(code)) close();
  }

  // The server's code for the failure of the last command; zero if it succeeded or never reached the server.
  std::int64_t last_code() const noexcept { return last_code_; }

  const StoreConfig& config() const noexcept { return *config_; }
  const std::shared_ptr<const StoreConfig>& shared_config() const noexcept { return config_; }
  // For what commands cannot do.  Connects with the first command.
  mongoc_client_t* client();
  // The deadline for what is done with client(); a command sets its own.
  void set_limit(Instant until) noexcept { deadline_.until = until; }

 private:
  struct Destroy {
    void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  };
  static mongoc_stream_t* open_stream(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                                      bson_error_t* error) noexcept;
  // Throws Failure for another machine, if nothing is encrypted and the URL does not allow that.
  void check_plaintext_to(const mongoc_host_list_t& host);
  void note_failure(bool only_host, const mongoc_host_list_t& host, const char* why) noexcept;

  const std::shared_ptr<const StoreConfig> config_;
  Deadline deadline_;
  std::int64_t last_code_ = 0;
  std::string refused_member_ = {};  // a member of the set that check_plaintext_to() has refused
  std::string failures_ = {};        // why streams could not be opened for this command
  bool standalone_ = false;
  std::unique_ptr<mongoc_client_t, Destroy> client_;
};

}  // namespace holdfast::mongodb
