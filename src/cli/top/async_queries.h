// SPDX-License-Identifier: Apache-2.0
// async_queries.h - queries the store for `top` on a thread, so that the keyboard works while the store
// hangs.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/wakeup.h"
#include "base/worker.h"
#include "cli/see/store_poller.h"
#include "cli/top/model.h"

namespace holdfast::cli {

struct Broken {
  std::string key;
  std::string owner;  // who lost it
};

// A thread executes the queries one after the other.
class AsyncQueries {
 public:
  using Answer = std::variant<Result<Snapshot>, Result<Inspection>, Result<Broken>>;

  // Rings `answered` with every answer.
  AsyncQueries(StorePoller poller, std::shared_ptr<Wakeup> answered);
  ~AsyncQueries();
  AsyncQueries(const AsyncQueries&) = delete;
  AsyncQueries& operator=(const AsyncQueries&) = delete;

  // REQUIRES: the kind is refresh, inspect or break_lease.
  void ask(TopAction action);
  std::optional<Answer> next();

  // Drops the queries that wait, except breaks.
  void drop_all_but_breaks();
  // How many breaks next() has not answered yet.
  std::size_t breaks() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Worker worker_;
};

}  // namespace holdfast::cli
