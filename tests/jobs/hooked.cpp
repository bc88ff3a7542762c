// SPDX-License-Identifier: Apache-2.0
#include "tests/jobs/hooked.h"

namespace holdfast::test {
namespace {

class HookedEngine final : public JobEngine {
 public:
  HookedEngine(std::unique_ptr<JobEngine> inner, Hooks hooks)
      : inner_(std::move(inner)), hooks_(std::move(hooks)) {}

  Result<EnqueueReply> enqueue(const NewJob& job, Instant until) override {
    return around(Step::enqueue, [&] { return inner_->enqueue(job, until); });
  }
  Result<Claimed> claim(const ClaimRequest& request, Instant until) override {
    return around(Step::claim, [&] { return inner_->claim(request, until); });
  }
  Status renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) override {
    return around(Step::renew, [&]() -> Status {
      if (Status s = hooks_.before_renewal(claims); !s) return s;
      return inner_->renew(claims, replies, until);
    });
  }
  Result<Finished> finish(const Finish& finish, Instant until) override {
    return around(Step::finish, [&] { return inner_->finish(finish, until); });
  }
  Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) override {
    return inner_->list(query, until);
  }
  Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) override {
    return inner_->change(id, what, by, until);
  }
  Result<TickRow> take_tick(const Tick& tick, Instant until) override {
    return inner_->take_tick(tick, until);
  }
  Result<TickRow> tick(std::string_view name, Instant until) override {
    return around(Step::tick, [&] { return inner_->tick(name, until); });
  }
  Status note_success(std::string_view name, std::string_view by, Instant until) override {
    return inner_->note_success(name, by, until);
  }
  Result<std::uint64_t> purge(const JobPurge& what, Instant until) override {
    return inner_->purge(what, until);
  }

 private:
  template <class Call>
  auto around(Step step, const Call& call) -> decltype(call()) {
    if (Status s = hooks_.before(step); !s) return std::move(s).error();
    auto answer = call();
    if (Status s = hooks_.after(step); !s) return std::move(s).error();
    return answer;
  }

  const std::unique_ptr<JobEngine> inner_;
  const Hooks hooks_;
};

class HookedStore final : public Store {
 public:
  HookedStore(std::shared_ptr<Store> inner, Hooks hooks)
      : inner_(std::move(inner)), hooks_(std::move(hooks)) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override { return inner_->connect(until); }
  std::unique_ptr<StoreAdmin> admin() override { return inner_->admin(); }
  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override {
    auto engine = inner_->jobs(until);
    if (!engine) return engine;
    return std::unique_ptr<JobEngine>(new HookedEngine(*std::move(engine), hooks_));
  }
  JobKeyForm job_key_form() const noexcept override { return inner_->job_key_form(); }
  Result<std::shared_ptr<Store>> in(std::string_view table) override { return inner_->in(table); }
  std::string name() const override { return inner_->name(); }
  const std::string& client() const noexcept override { return inner_->client(); }
  int proof_of_life() const override { return inner_->proof_of_life(); }
  void abandon() noexcept override { inner_->abandon(); }

 private:
  const std::shared_ptr<Store> inner_;
  const Hooks hooks_;
};

}  // namespace

std::shared_ptr<Store> hooked(std::shared_ptr<Store> inner, Hooks hooks) {
  return std::make_shared<HookedStore>(std::move(inner), std::move(hooks));
}

}  // namespace holdfast::test
