// SPDX-License-Identifier: Apache-2.0
// wire.h - one connection: commands go out together, answers come back in their order.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "stores/redis/answer.h"
#include "stores/redis/command.h"
#include "stores/redis/stream.h"

namespace holdfast::redis {

// Throws Failure: unavailable if what was asked cannot have been done (not all of it was sent), in_doubt if
// it can.  After that it is broken: whatever it still has in flight, nobody waits for it any more.
class Wire {
 public:
  // Connects, and begins with who we are: what follows is sent together with that.  check_welcome() takes its
  // answers.
  Wire(std::shared_ptr<const StoreConfig> config, Instant until, bool with_db);

  // A command to be sent with the next send().  REQUIRES: so many words follow.
  Command command(std::size_t words) { return {out_, words}; }
  // What was begun and never sent, because memory ran out.
  void forget_unsent() noexcept { out_.clear(); }
  void send(Instant until);
  Answer receive(Instant until);
  // An answer that has come already, if one has.
  std::optional<Answer> take();

  // Throws Failure: refused if the server does not let us in.
  void check_welcome(Instant until);

  int fd() const noexcept { return stream_.fd(); }
  bool broken() const noexcept { return broken_; }
  // The server has gone since the last answer.  Costs a system call.
  bool abandoned() noexcept;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };
  std::optional<Answer> parse();
  void feed(std::string_view bytes);
  [[noreturn]] void fail(const Failure& failure, bool sent);

  const std::shared_ptr<const StoreConfig> config_;
  Stream stream_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  std::string out_;
  std::size_t fed_ = 0;  // since the last answer
  bool logs_in_ = false, selects_ = false;
  bool spoke_ = false;  // the server has, as Redis does
  bool broken_ = false;
};

}  // namespace holdfast::redis
