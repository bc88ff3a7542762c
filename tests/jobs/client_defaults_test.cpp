// SPDX-License-Identifier: Apache-2.0
// The defaults of a client are for acquires by hand; they do not change the lock of a job.
#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

class ClientDefaults : public JobsAndCallbacks {
 protected:
  Client client_with(AcquireOptions defaults) {
    return Client(database_->new_client(), {.defaults = std::move(defaults)});
  }
  // Each of them would let two in, or make somebody wait, or leave something behind.
  Client as_node_7() {
    return client_with({.ttl = 1h, .wait = forever, .owner = "node-7", .note = "by hand", .detached = true});
  }
  JobOptions locked_by(const Client& client, JobLock lock = {}) {
    JobOptions options = told(lock);
    options.lock_store = client;
    return options;
  }
};

TEST_P(ClientDefaults, an_owner_does_not_let_two_in_here_and_now) {
  const Jobs jobs(as_node_7());
  Ran<std::monostate> inner;
  const auto outer = jobs.perform_now("Now", {}, told({}), [&](JobContext&, const Args&) {
    const LeaseRow lock = jobs.locked("lock:Now:").value();
    EXPECT_NE(lock.owner, "node-7");
    EXPECT_LE(lock.remaining, 30s);
    inner = jobs.perform_now("Now", {}, told({}), stays());
    EXPECT_EQ(inner.owner, lock.owner);
  });
  EXPECT_TRUE(outer.ran);
  EXPECT_FALSE(inner.ran);
  EXPECT_EQ(failed_, 1);
  EXPECT_FALSE(jobs.locked("lock:Now:"));
}

TEST_P(ClientDefaults, an_owner_does_not_let_two_workers_in) {
  const Client client = as_node_7();
  const JobOptions options = locked_by(client);
  jobs_.define("Two", options, stays());
  for (int i = 0; i < 2; ++i) jobs_.enqueue("Two");
  JobWorker worker(jobs_, quick(2));
  EXPECT_TRUE(events_.await(What::dropped));
  EXPECT_TRUE(await([&] { return inside_ == 1; }));
  EXPECT_FALSE(jobs_.perform_now("Two", {}, options, stays()).ran);
  go_ = true;
  EXPECT_TRUE(events_.await(What::done));
  EXPECT_EQ(ran_, 1);
  EXPECT_FALSE(jobs_.locked("lock:Two:", options));
}

TEST_P(ClientDefaults, a_wait_does_not_make_a_worker_wait) {
  const Client patient = client_with({.wait = forever});
  jobs_.define("Impatient", locked_by(patient), stays());
  JobWorker worker(jobs_, quick(1));
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Impatient:");
  jobs_.enqueue("Impatient");
  EXPECT_TRUE(events_.await(What::dropped));
  EXPECT_EQ(inside_, 0);
}

TEST_P(ClientDefaults, what_ends_a_lease_by_hand_does_not_end_the_lock_under_a_job) {
  std::atomic<int> asked = 0;
  const Client brief = client_with({.renew_every = 5ms, .max_renewals = 1, .finished = [&] {
                                      ++asked;
                                      return true;
                                    }});
  const JobFunction looks = [&](JobContext& context, const Args&) {
    ++inside_;
    EXPECT_FALSE(await([&] { return asked > 0 || !context.held(); }, 200ms));
  };
  EXPECT_TRUE(Jobs(brief).perform_now("Now", {}, told({}), looks).ran);
  jobs_.define("Elsewhere", locked_by(brief), looks);
  jobs_.enqueue("Elsewhere");
  JobWorker worker(jobs_, quick(1));
  EXPECT_TRUE(events_.await(What::done));
  EXPECT_EQ(inside_, 2);
  EXPECT_EQ(expired_, 0);
}

TEST_P(ClientDefaults, nothing_stays_locked_by_one_that_throws) {
  const Client client = as_node_7();
  const JobOptions options = locked_by(client);
  const JobFunction throws = [](JobContext&, const Args&) { throw std::runtime_error("no"); };
  EXPECT_THROW((void)jobs_.perform_now("Bad", {}, options, throws), std::runtime_error);
  EXPECT_FALSE(jobs_.locked("lock:Bad:", options));
  jobs_.define("Bad", options, throws);
  jobs_.enqueue("Bad");
  JobWorker worker(jobs_, quick(1));
  ASSERT_TRUE(events_.await(What::died));
  EXPECT_FALSE(jobs_.locked("lock:Bad:", options));
}

HOLDFAST_ON_STORES(ClientDefaults, job_kinds());

}  // namespace
}  // namespace holdfast::test
