// SPDX-License-Identifier: Apache-2.0
// What waiters cost a server that cannot notify them.
#include <thread>

#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class WaitingOfMongo : public OwnMongoTest {};

// A few queries a second for each process, and fewer the more wait.  The number of writes is printed, for the
// page.
TEST_F(WaitingOfMongo, asks_a_few_times_a_second) {
  constexpr int waiters = 10;
  Client owner = open(url());
  const Lease lease = owner.acquire("k", {.ttl = 1min});
  std::vector<Client> clients;
  for (int i = 0; i < waiters; ++i) clients.push_back(open(url()));
  std::vector<std::jthread> threads;
  for (Client& client : clients)
    threads.emplace_back([&] { EXPECT_FALSE(client.try_acquire("k", {.ttl = 30s, .wait = 12s})); });
  let_pass(4s);  // the first polls follow each other quickly
  const double before = status_of(*server_, "opcounters", "command");
  const double journal = status_of(*server_, "wiredTiger", "log bytes written");
  const Instant start = BootClock::now();
  let_pass(6s);
  const double seconds = std::chrono::duration<double>(BootClock::now() - start).count();
  const double each = (status_of(*server_, "opcounters", "command") - before) / seconds / waiters;
  const double bytes = (status_of(*server_, "wiredTiger", "log bytes written") - journal) / seconds / waiters;
  RecordProperty("commands_per_second_and_waiter", std::to_string(each));
  RecordProperty("journal_bytes_per_second_and_waiter", std::to_string(bytes));
  EXPECT_LT(each, 6);
  EXPECT_GT(each, 0.1) << "they do look";
}

}  // namespace
}  // namespace holdfast::test
