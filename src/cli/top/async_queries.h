// SPDX-License-Identifier: Apache-2.0
// async_queries.h - asks the store for `top`, so that keys are answered also while the store is not.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/fd.h"
#include "base/worker.h"
#include "cli/see/store_poller.h"
#include "cli/top/model.h"

namespace holdfast::cli {

struct Broken {
  std::string key;
  std::string owner;  // who lost it
};

// A thread of its own does what is asked, one after the other.
class AsyncQueries {
 public:
  using Answer = std::variant<Result<Look>, Result<Inspection>, Result<Broken>>;

  // `answered` wakes the asker with every answer.
  AsyncQueries(StorePoller poller, std::shared_ptr<Wakeup> answered);
  ~AsyncQueries();
  AsyncQueries(const AsyncQueries&) = delete;
  AsyncQueries& operator=(const AsyncQueries&) = delete;

  // REQUIRES: it is a look, an inspection or a break.
  void ask(RunRequest wish);
  std::optional<Answer> next();

  // Of all that waits to be done, only breaks will be.
  void drop_all_but_breaks();
  // So many were asked for, and next() has not had their answers.
  std::size_t breaks() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Worker worker_;
};

}  // namespace holdfast::cli
