// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/wire.h"

#include <new>

#include "base/text.h"
#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

// Far more than any question of ours brings: lists come in pages, and of jobs, which are large, by their
// bytes.
constexpr std::size_t longest_answer = std::size_t{64} << 20;

}  // namespace

Wire::Wire(std::shared_ptr<const StoreConfig> config, Instant until, bool with_db)
    : config_(std::move(config)), stream_(*config_, until), reader_(redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
  const Options& o = config_->options;
  if (!o.user.empty()) {
    command(3).word("AUTH").word(o.user).word(o.password);
    logs_in_ = true;
  } else if (!o.password.empty()) {
    command(2).word("AUTH").word(o.password);
    logs_in_ = true;
  }
  if (with_db && o.db != 0) {
    command(2).word("SELECT").number(o.db);
    selects_ = true;
  }
  command(3).word("CLIENT").word("SETNAME").word("holdfast");
}

void Wire::check_welcome(Instant until) {
  std::optional<Error> refused;
  if (logs_in_) {
    const Answer answer = receive(until);
    if (answer->is_error()) refused = login_error(answer->text(), *config_);
  }
  if (selects_) {
    const Answer answer = receive(until);
    if (answer->is_error() && !refused) refused = to_error(answer->text(), *config_);
  }
  const Answer named = receive(until);  // for people who look at CLIENT LIST; who may not, may not
  const bool stranger = named->is_error() && named->text().starts_with("NOAUTH");
  if (!refused && stranger) refused = to_error(named->text(), *config_);
  if (refused) throw_failure(*std::move(refused));
}

void Wire::fail(const Failure& failure, bool sent) {
  broken_ = true;
  Error error = failure.error();
  if (sent && error.code == Errc::unavailable) error.code = Errc::in_doubt;
  throw_failure(std::move(error));
}

void Wire::send(Instant until) {
  try {
    stream_.send(out_, until);
  } catch (const Failure& failure) {
    fail(failure, false);  // the end of it is missing
  }
  out_.clear();
}

Answer Wire::receive(Instant until) {
  try {
    while (true) {
      if (auto answer = parse()) return *std::move(answer);
      feed(stream_.receive(until));
    }
  } catch (const Failure& failure) {
    fail(failure, true);
  }
}

std::optional<Answer> Wire::take() {
  try {
    if (auto answer = parse()) return answer;
    while (true) {
      const std::string_view bytes = stream_.take();
      if (bytes.empty()) return std::nullopt;
      feed(bytes);
      if (auto answer = parse()) return answer;
    }
  } catch (const Failure& failure) {
    fail(failure, true);
  }
}

void Wire::feed(std::string_view bytes) {
  fed_ += bytes.size();
  if (fed_ > longest_answer)
    throw_failure({Errc::unavailable, "unexpected reply from the server: it is too long"});
  if (!spoke_ && std::string_view("+-:$*").find(bytes.front()) == std::string_view::npos)
    throw_failure(wrong_protocol(bytes, *config_));
  spoke_ = true;
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) throw std::bad_alloc();
}

std::optional<Answer> Wire::parse() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
    throw_failure({Errc::unavailable, printable(config_->place) +
                                          ": the server does not follow the Redis protocol: " +
                                          printable(static_cast<const char*>(reader_->errstr))});
  if (reply == nullptr) return std::nullopt;
  fed_ = 0;
  return Answer(static_cast<redisReply*>(reply));
}

bool Wire::abandoned() noexcept {
  try {
    return take().has_value() || broken_;  // nobody had asked anything
  } catch (const Failure&) {
    return true;
  }
}

}  // namespace holdfast::redis
