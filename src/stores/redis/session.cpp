// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/session.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "core/table_version.h"
#include "stores/redis/fault.h"
#include "stores/redis/probe.h"

namespace holdfast::redis {
namespace {

// A connection that was used so recently is not checked before it is used again.
constexpr Millis recently(50);

// Calls what comes before the caller's request: if it fails, nothing of that can have been applied.
template <class Work>
void before_request(const Work& work) {
  try {
    work();
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;
    throw_failure(std::move(error));
  }
}

constexpr std::size_t longest_version = 40;

// The version that the key says, unless this Holdfast knows that one.  Only a newer Holdfast writes that key,
// so what is no number there is newer too.
std::optional<std::string> newer_version(const Value& needs) {
  if (needs.is_nil()) return std::nullopt;
  // A user who may not read that key may not be allowed to use a newer version either, but that is not known.
  if (needs.is_error())
    return needs.text().starts_with("WRONGTYPE") ? std::optional("of another type") : std::nullopt;
  const std::string_view text = needs.text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (is_number && number <= core::table_version) return std::nullopt;
  return printable(text.substr(0, longest_version));
}

void require_known(const Value& needs, const StoreConfig& config) {
  if (const auto newer = newer_version(needs))
    throw_failure({Errc::refused, printable(config.place) + ": the key " + config.naming.version +
                                      core::newer_tables(*newer)});
}

}  // namespace

Micros time_in(const Value& answer) {
  return std::chrono::seconds(answer[0].number()) + Micros(answer[1].number());
}

Connection& Session::ready(Instant until) {
  const Instant now = BootClock::now();
  if (now >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  const bool stale =
      connection_ && (connection_->broken() || (now - used_ > recently && connection_->closed()));
  if (!connection_ || stale) connect(until);
  connection_->forget_unsent();
  used_ = now;
  return *connection_;
}

void Session::learn(Instant sent, Instant received, Micros server_clock) {
  offset_.learn(sent, received, server_clock);
  learned_ = received;
}

// The offset loses a hundredth of its age: too old is where that is more than a tenth of the time that is
// left.
Micros Session::void_after(Instant until) {
  const Instant now = BootClock::now();
  if ((now - learned_) / 100 > (until - now) / 10)
    before_request([&] {
      const Answer time = connection_->call(until, "TIME");
      learn(now, BootClock::now(), time_in(time));
    });
  return offset_.at_least(until);
}

void Session::connect(Instant until) {
  connection_.reset();
  before_request([&] {
    auto connection = std::make_unique<Connection>(config_, until, true);
    connection->add("TIME");
    connection->add("INFO");
    connection->add("GET", config_->naming.version);
    const Instant sent = BootClock::now();
    connection->send(until);
    connection->check_login(until);
    Answer time = connection->receive(until);
    const Instant received = BootClock::now();
    const Answer info = checked(connection->receive(until), *config_);
    if (Status s = check_server(ServerInfo(info.text()), *config_); !s) throw_failure(std::move(s).error());
    require_known(connection->receive(until), *config_);
    offset_ = {};
    learn(sent, received, time_in(checked(std::move(time), *config_)));  // a Sentinel knows no TIME
    connection_ = std::move(connection);
  });
}

}  // namespace holdfast::redis
