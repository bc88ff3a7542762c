// SPDX-License-Identifier: Apache-2.0
// connection.h - commands to the server and their answers, each with a deadline.
#pragma once
#include <memory>

#include "stores/mongodb/bson.h"
#include "stores/mongodb/config.h"
#include "stores/mongodb/fault.h"
#include "stores/mongodb/stream.h"

namespace holdfast::mongodb {

// Throws Failure.  Used by one thread at a time.  After a failure the next command goes over a new
// connection.
class Connection {
 public:
  explicit Connection(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // In the configured database.  A write is answered when a majority of the replica set has it in its
  // journal.  A server alone that is asked for a majority only begins to write its journal (seen with kill
  // -9): it is asked for itself.
  Document run(Document command, Effect effect, Instant until) {
    return run_in(config_->database, std::move(command), effect, until);
  }
  // In another database.
  Document run_in(const std::string& database, Document command, Effect effect, Instant until);

  void told(bool alone) noexcept { alone_ = alone; }

  // Nothing is connected: it failed, or the server has closed it meanwhile.
  bool closed();
  void close() noexcept { client_.reset(); }
  // The server said that.  If it is the primary no longer, the next one has another clock, to be asked anew.
  void close_if_gone(std::int64_t code) noexcept {
    if (is_departure(code)) close();
  }

  // What the server called the failure of the last command; zero if the failure was none of its.
  std::int64_t last_code() const noexcept { return last_code_; }

  const StoreConfig& config() const noexcept { return *config_; }
  const std::shared_ptr<const StoreConfig>& shared_config() const noexcept { return config_; }
  // For what the driver does better than commands.  Connects with the first command.
  mongoc_client_t* client();
  // Until then whatever is done with client() has to be over; a command sets its own.
  void set_limit(Instant until) noexcept { deadline_.until = until; }

 private:
  struct Destroy {
    void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  };
  static mongoc_stream_t* open_stream(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                                      bson_error_t* error) noexcept;
  // Throws Failure for another machine, if nothing is encrypted and nobody has said that this is well.
  void check_way_to(const mongoc_host_list_t& host);
  void note_failure(bool alone, const mongoc_host_list_t& host, const char* why) noexcept;

  const std::shared_ptr<const StoreConfig> config_;
  Deadline deadline_;
  std::int64_t last_code_ = 0;
  std::string stranger_ = {};  // a member of the set that was not connected to for that reason
  std::string failures_ = {};  // why streams could not be opened for this command
  bool alone_ = false;
  std::unique_ptr<mongoc_client_t, Destroy> client_;
};

}  // namespace holdfast::mongodb
