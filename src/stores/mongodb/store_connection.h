// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in MongoDB: everything of a key is one document.
//
// A verb is one findAndModify with a pipeline (leases.json), which decides on the server by its clock.  A
// larger batch is one update command, with one pipeline for all renewals and one for each other request, and
// one find that reads the results.
#pragma once
#include <memory>

#include "core/batching.h"
#include "core/timing.h"
#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"
#include "stores/mongodb/leases.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {

class MongoStoreConnection final : public StoreConnection {
 public:
  // Throws Failure.
  MongoStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override;

  // For jobs, whose locks are leases on the same connection.  Connects again if it has to; throws Failure.
  void ready(Instant until);
  // Creates the collection of leases with its indexes if it is missing.  If it exists, only `init` creates
  // indexes, because that takes long among many keys.  Throws Failure.
  void make_collection(Instant until);
  Connection& connection() noexcept { return connection_; }

 private:
  // The batch that is being applied.
  struct Call {
    std::span<const Request> requests;
    std::span<Reply> replies;
    Instant until;
    bool applied = false;  // a part of it may have taken effect
  };
  // An acquire that is sent now is void after `void_after`; the server's clock shows at least `not_before`.
  struct Bounds {
    Micros void_after, not_before;
    bool late(const Snapshot& snapshot) const;
  };
  // What is sent with a request.
  struct With {
    Bounds bounds;
    std::int64_t mark = 0;                   // for a release in a batch: reply_by_mark()
    std::optional<Micros> rival_until = {};  // a Ruby process holds it until then
  };
  struct Applied {
    Reply reply;
    Snapshot snapshot;  // after a renewal or an acquire; before a release or an eviction
  };

  Bounds bounds(Instant until) const;
  const LeasePipelines& pipelines() const;
  void learn(Instant sent, const Snapshot& snapshot);
  Constants constants(const Request& request, const With& with, bool literally) const;

  Applied apply_one(const Request& request, Instant until, std::optional<Micros> rival_until = {});
  Snapshot modify(const Request& request, const With& with, Instant until);
  void apply_key_batch(Call& call, const core::KeyBatch& key_batch);
  Reply apply_alone(Call& call, const Request& request);
  void apply_own(Call& call, std::size_t i);
  // Renewals that travel together stop at the first document that the server refuses; then they are sent
  // again, each as an update of its own.
  enum class Renewals : std::uint8_t { together, apart };
  // By the number of a request: whether it has to be sent again alone.
  std::vector<bool> update(Call& call, const core::KeyBatch& key_batch, const Bounds& bounds,
                           std::int64_t mark, Renewals how);
  std::vector<Snapshot> find(const Call& call, const core::KeyBatch& key_batch);

  // Beside the gem: mongo_lock.cpp.
  struct Rival {
    std::string owner;
    Micros until{}, now{};
  };
  std::optional<Rival> rival(const Request& request, Instant until);
  bool write_theirs(const Request& request, const Snapshot& snapshot, bool make, Instant until);
  bool delete_theirs(const Document& match, Instant until);
  Reply apply_beside(Call& call, const Request& request);
  Reply acquire_beside(Call& call, const Request& request);
  Reply renew_beside(Call& call, const Request& request);
  Reply free_beside(Call& call, const Request& request);
  void list_theirs(const Query& query, Page& page, Instant until);

  void list_documents(const Query& query, Page& page, Instant until);
  void list_log(const Query& query, Page& page, Instant until);

  Connection connection_;
  ServerProbe probe_;
  core::StoreOffset offset_;
  std::int64_t marks_;
};

}  // namespace holdfast::mongodb
