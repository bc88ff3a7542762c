// SPDX-License-Identifier: Apache-2.0
// store.h - leases in MariaDB and MySQL.
//
// A batch of one is one text of statements that settles every uncontended request (single.cpp).  What that
// does not settle, and every larger batch, is one transaction in two round trips (wave.cpp): the rows are
// locked and read, core/rule.h decides, and what it changed is written.  Keys in bytewise order, each once; a
// key that comes twice travels in a second wave.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/row.h"
#include "core/store_offset.h"
#include "core/waves.h"
#include "holdfast/store.h"
#include "stores/mariadb/connection.h"
#include "stores/mariadb/hello.h"
#include "stores/mariadb/site.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {

class Writes;

class MariaStore final : public Store {
 public:
  // Throws Failure.
  MariaStore(std::shared_ptr<const Site> site, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;

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
  // What to do about rows that somebody has locked.
  enum class Locked : std::uint8_t { wait, skip };

  void require_fit(std::span<const Request> requests) const;
  static void require_time(Instant until);
  // Before anything of a call is sent: a connection that was closed while it was idle is replaced.
  void ready(Instant until);
  void connect(Instant until);

  void apply_alone(Call& call, std::size_t i);
  void apply_in_waves(Call& call);
  void apply_wave(Call& call, const Indices& wave);
  Settled send_wave(Call& call, const Indices& wave, Millis patience, Locked locked);
  // Reads the rows of the wave, with their locks.
  Answers begin(const Call& call, const Indices& wave, Millis patience, Locked locked);
  Settled end(const Writes& writes, Instant until);
  void roll_back(Instant until);
  void remember(const Request& request, const Reply& reply);

  // One text for one request.
  Settled settle(Call& call, std::size_t i, Millis patience);
  Settled take(const Request& request, Reply& reply, const Answers& answers);
  // Whose key it is about, and who asks.
  Values named(const Request& request) const;
  // Somebody's transaction has the row locked: answers by what everybody else sees, or notes that it cannot.
  void answer_locked(Call& call, std::size_t i);

  // Settled::yes: there was none.  Throws for what no second attempt mends.
  Settled check(const std::optional<Trouble>& trouble) const;
  // Words in front of a statement that waits for rows.
  std::string wait_at_most(Millis patience) const;
  // On the server's clock.
  std::int64_t void_after(Instant until) const { return offset_.at_least(until).count(); }

  const std::shared_ptr<const Site> site_;
  std::unique_ptr<Connection> connection_;
  Hello hello_;
  core::StoreOffset offset_;
  // With the names of the tables put in.
  const std::string acquire_, make_, renew_, release_, look_, ahead_, read_;
  // Keys in whose queue we probably are, and keys that have a row: what to try first.
  using Keys = std::set<std::string, std::less<>>;
  static void put(Keys& keys, std::string_view key);
  Keys waited_for_, known_;
};

}  // namespace holdfast::mariadb
