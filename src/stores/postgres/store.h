// SPDX-License-Identifier: Apache-2.0
// store.h - leases in PostgreSQL.
//
// A batch of one is one prepared statement, which settles every uncontended request.  What that does not
// settle, and every larger batch, is one statement over arrays (sql/apply.sql): keys in bytewise order, each
// once; a key that comes twice travels in a second wave.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/store_offset.h"
#include "core/waves.h"
#include "holdfast/store.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/hello.h"
#include "stores/postgres/site.h"
#include "stores/postgres/statements.h"

namespace holdfast::postgres {

class PostgresStore final : public Store {
 public:
  // Throws Failure.
  PostgresStore(std::shared_ptr<const Site> site, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  std::unique_ptr<Bell> bell() override;

 private:
  using Indices = core::Wave;
  // The batch that is being applied.
  struct Call {
    std::span<const Request> requests;
    std::span<Reply> replies;
    Instant until;
    bool applied = false;                   // a part of it may have taken effect
    std::optional<Error> failed = {};       // one that could not be answered; the others do not wait for it
    std::set<std::string_view> stuck = {};  // the keys of such
  };
  enum class Settled : std::uint8_t { yes, not_yet, in_the_way };

  void require_fit(std::span<const Request> requests) const;
  static void require_time(Instant until);
  // Before anything of a call is sent: a connection that was closed while it was idle is replaced.
  void ready(Instant until);
  void connect(Instant until);

  void apply_alone(Call& call, std::size_t i);
  void apply_in_waves(Call& call);
  void apply_wave(Call& call, Indices& wave);
  // Those without a final answer stay in `wave`.
  Settled send_wave(Call& call, Indices& wave, Millis patience);
  // Into `unseen` go releases that found no row.
  void take_answers(Call& call, Indices& wave, const Answer& answer, Indices& unseen);

  // One statement for one request.
  Settled settle(Call& call, std::size_t i, Millis patience);
  Settled settle_acquire(const Request& request, Reply& reply, Instant until, Millis patience);
  Settled settle_own(const Request& request, Reply& reply, const Answer& answer, Instant until,
                     Millis patience);
  // Begins the parameters of its statement.
  Parameters& ask_about(const Request& request);
  Answer look(const Request& request, Instant until);
  // A release found no row: makes sure that none is being made.
  Settled make_sure(const Request& request, Instant until, Millis patience);
  // Somebody's transaction has the row locked: answers by what everybody else sees, or notes that it cannot.
  void answer_locked(Call& call, std::size_t i);

  // Settled::in_the_way if others were; throws for any other trouble.
  Settled check(const Answer& answer) const;
  void learn(Instant sent, const Answer& answer, int column);
  // On the server's clock.
  std::int64_t void_after(Instant until) const;

  const std::shared_ptr<const Site> site_;
  std::unique_ptr<Connection> connection_;
  Hello hello_;
  Statements statements_;
  Uses uses_;
  core::StoreOffset offset_;
  Parameters parameters_;
  Instant asked_{};
  // Keys in whose queue we probably are, and keys that we have released last: what to try first.
  using Keys = std::set<std::string, std::less<>>;
  static void remember(Keys& keys, std::string_view key);
  Keys waited_for_, freed_;
};

}  // namespace holdfast::postgres
