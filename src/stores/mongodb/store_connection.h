// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in MongoDB: everything of a key is one document.
//
// A verb is one findAndModify with a pipeline (pipelines/*.json), which decides on the server by its clock. A
// larger batch is one update command with a pipeline for each key, and one find that reads what came of them.
#pragma once
#include <memory>

#include "core/batching.h"
#include "core/timing.h"
#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"
#include "stores/mongodb/constants.h"
#include "stores/mongodb/outcome.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {

class MongoStoreConnection final : public StoreConnection {
 public:
  // Throws Failure.
  MongoStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  std::unique_ptr<StoreListener> listener() override;

  // For jobs, whose locks are leases on the same connection.  Connects anew if it has to; throws Failure.
  void ready(Instant until);
  // Makes the collection of leases with its indexes if it is not there yet.  If it is there, only `init`
  // makes indexes, because that takes long among many keys.  Throws Failure.
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
  // By when an acquire that is sent now is void, and what the server's clock shows at least.
  struct Bounds {
    Micros void_after, not_before;
    bool late(const Seen& seen) const;
  };
  // What travels with a request beside it.
  struct With {
    Bounds bounds;
    std::int64_t mark = 0;                   // left by what frees a key in a batch
    std::optional<Micros> rival_until = {};  // somebody outside holds it until then
  };
  struct Settled {
    Reply reply;
    Seen seen;  // of what frees: before; else afterwards
  };

  Bounds bounds(Instant until) const;
  void learn(Instant sent, const Seen& seen);
  Constants constants(const Request& request, const With& with, bool literally) const;

  Settled settle(const Request& request, Instant until, std::optional<Micros> rival_until = {});
  Seen modify(const Request& request, const With& with, Instant until);
  void apply_key_batch(Call& call, const core::KeyBatch& key_batch);
  Reply settle_alone(Call& call, const Request& request);
  void settle_own(Call& call, std::size_t i);
  // What the server says of each update: those that have to be asked again one by one.
  std::vector<bool> update(Call& call, const core::KeyBatch& key_batch, const Bounds& bounds,
                           std::int64_t mark);
  std::vector<Seen> find(const Call& call, const core::KeyBatch& key_batch);
  Document find_some(const std::vector<std::string_view>& keys, Instant until);

  // Beside the gem: mongo_lock.cpp.
  struct Rival {
    std::string owner;
    Micros until{}, now{};
  };
  std::optional<Rival> rival(const Request& request, Instant until);
  bool write_theirs(const Request& request, const Seen& seen, bool make, Instant until);
  bool delete_theirs(const Document& match, Instant until);
  Reply settle_beside(Call& call, const Request& request);
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
