// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/store_connection.h"

#include <cassert>
#include <charconv>
#include <system_error>

#include "base/text.h"
#include "stores/redis/fault.h"
#include "stores/redis/keys.h"
#include "stores/redis/listener.h"

namespace holdfast::redis {
namespace {

// More would keep the server from everybody else for milliseconds.
constexpr std::size_t most_at_once = 512;

constexpr std::size_t shared_keys = 5, keys_each = 4, shared_words = 3, words_each = 6;

// As leases.lua has them, behind those of Verdict.
constexpr std::int64_t too_late = 4, foreign = 5, companion_is_foreign = 6;

char letter(const Request& r) {
  switch (r.verb) {
    case Verb::acquire: return r.detached ? 'd' : 'a';
    case Verb::renew: return r.extend ? 'e' : 'n';
    case Verb::release: return 'r';
    case Verb::evict: return 'b';
  }
  return 'x';
}

void add_request(Command& command, const Request& r, bool reserved) {
  const char verb = reserved ? 'x' : letter(r);
  command.word(std::string_view(&verb, 1)).word(r.owner.text).number(to_number(r.token));
  command.number(ttl_ms(r.ttl));
  if (r.longest_place > Millis::zero() && r.longest_place != never)
    command.word(std::to_string(r.place.count()) + ' ' + std::to_string(r.longest_place.count()));
  else
    command.number(r.place.count());
  command.word(r.note);
}

// Somebody else's data stands where the lease was.
Reply lost_to(std::string_view what) {
  return {.verdict = Verdict::lost,
          .owner = "(not a lease: a " + std::string(what) + ")",
          .remaining = Millis(never)};
}

// The user may not have a key of the batch: nothing was begun.
class KeyDenied final : public Failure {
 public:
  using Failure::Failure;
};

// One answer of `apply` in leases.lua: now verdict token remaining ahead holder.
struct Line {
  explicit Line(std::string_view text) : rest(text) {}
  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || end == rest.data() + rest.size() || *end != ' ')
      throw_failure(not_understood());
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    return value;
  }
  std::string_view rest;
};

}  // namespace

Status RedisStoreConnection::apply(std::span<const Request> requests, std::span<Reply> replies,
                                   Instant until) {
  assert(requests.size() == replies.size());
  bool applied = false;  // some of it
  try {
    for (std::size_t from = 0; from < requests.size(); from += most_at_once) {
      const std::size_t size = std::min(most_at_once, requests.size() - from);
      apply_some(requests.subspan(from, size), replies.subspan(from, size), until, applied);
    }
    if (requests.size() == 1 && replies[0].error) return *std::move(replies[0].error);
    return Status{};
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (applied) error.code = Errc::in_doubt;
    return error;
  } catch (const std::system_error& e) {  // no thread, no descriptor
    return Error{applied ? Errc::in_doubt : Errc::unavailable, e.what()};
  }
}

void RedisStoreConnection::apply_some(std::span<const Request> requests, std::span<Reply> replies,
                                      Instant until, bool& applied) {
  Numbers late;
  try {
    late = send_batch(requests, replies, nullptr, until);
  } catch (const KeyDenied& denied) {
    // The server checks all keys before it begins.  Halved until the one that the user may not have is alone.
    if (requests.size() == 1) {
      replies[0].error = denied.error();
      return;
    }
    const std::size_t half = requests.size() / 2;
    apply_some(requests.first(half), replies.first(half), until, applied);
    apply_some(requests.subspan(half), replies.subspan(half), until, applied);
    return;
  }
  // The server's clock was not where we thought; by now we know better.
  for (int again = 0; again < 3 && !late.empty(); ++again) {
    applied = applied || late.size() < requests.size();
    late = send_batch(requests, replies, &late, until);
  }
  if (!late.empty()) throw_failure(clock_jumped());
  applied = true;
}

RedisStoreConnection::Numbers RedisStoreConnection::send_batch(std::span<const Request> requests,
                                                               std::span<Reply> replies, const Numbers* which,
                                                               Instant until) {
  const StoreConfig& config = session_.config();
  const Naming& naming = config.naming;
  Connection& connection = session_.ready(until);
  const std::size_t n = which ? which->size() : requests.size();
  const auto number_of = [&](std::size_t i) { return which ? (*which)[i] : i; };
  const Micros void_after = session_.void_after(until);
  const Instant sent = BootClock::now();
  const auto add = [&](Command& command) {
    command.words(naming.kept, naming.index, naming.held, naming.purged, naming.log);
    for (std::size_t i = 0; i < n; ++i) LeaseNames(naming, requests[number_of(i)].key.text).add_all(command);
    command.word(config.client).number(void_after.count()).number(naming.prefix.size());
    for (std::size_t i = 0; i < n; ++i) {
      const Request& r = requests[number_of(i)];
      add_request(command, r, naming.reserved(r.key.text));
    }
  };
  const Answer answer =
      connection.run(Lua::apply, shared_keys + keys_each * n, shared_words + words_each * n, add, until);
  if (answer.is_error()) {
    Error error = to_error(answer.text(), config, Errc::in_doubt);
    if (denies_key(answer.text())) throw KeyDenied(std::move(error));
    throw_failure(std::move(error));
  }
  const Instant received = BootClock::now();
  if (n > 1 && answer.size() != n) throw_failure(not_understood());

  Numbers late;
  for (std::size_t i = 0; i < n; ++i) {
    const Request& r = requests[number_of(i)];
    Reply& reply = replies[number_of(i)];
    reply.error.reset();
    Line line(n == 1 ? answer.text() : answer[i].text());
    const Micros now(line.number());  // of all the same
    if (i == 0) session_.learn(sent, received, now);
    const std::int64_t verdict = line.number();
    reply.verdict = static_cast<Verdict>(verdict);
    reply.token = Token{static_cast<std::uint64_t>(line.number())};
    reply.remaining = ttl_of(line.number());
    reply.ahead = static_cast<std::uint32_t>(line.number());
    reply.owner = reply.verdict == Verdict::granted ? r.owner.text : line.rest;
    if (verdict == too_late) late.push_back(number_of(i));
    if (verdict == foreign) {
      // Whoever held the key has lost it; others get an error that says why it cannot be leased.
      if (r.verb == Verb::renew || r.verb == Verb::release)
        reply = lost_to(line.rest);
      else
        reply.error = no_lease(r.key.text, line.rest, config);
    }
    // The lease itself stays as it is: its holder has not lost it.
    if (verdict == companion_is_foreign) reply.error = companion_overwritten(r.key.text, line.rest, config);
    reply.now = StoreTime{now.count()};
  }
  return late;
}

Result<std::unique_ptr<StoreListener>> RedisStoreConnection::listener(Instant until) {
  return std::unique_ptr<StoreListener>(std::make_unique<RedisListener>(session_.shared_config(), until));
}

}  // namespace holdfast::redis
