// SPDX-License-Identifier: Apache-2.0
// two_accounts.cpp - std::scoped_lock on two keys: transfers in both directions at once, and no deadlock.
#include <holdfast/holdfast.h>

#include <iostream>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

struct Account {
  const char* name;
  long cents;  // protected by the lease "account:NAME", here and in every other process that respects it
};

void transfer(holdfast::Client client, Account& from, Account& to, long cents) {
  holdfast::Lock first(client, std::string("account:") + from.name, {.ttl = 10s});
  holdfast::Lock second(client, std::string("account:") + to.name, {.ttl = 10s});
  // Takes both in whatever order works; never one of them for good while it waits for the other.
  const std::scoped_lock both(first, second);
  from.cents -= cents;
  to.cents += cents;
}

int main() {
  auto client = holdfast::open("sqlite:leases.db");
  Account ann{"ann", 10'000}, bob{"bob", 0};
  std::thread there([&] {
    for (int i = 0; i < 25; ++i) transfer(client, ann, bob, 100);
  });
  std::thread back([&] {
    for (int i = 0; i < 25; ++i) transfer(client, bob, ann, 40);
  });
  there.join();
  back.join();
  std::cout << "ann " << ann.cents << ", bob " << bob.cents << ", together " << ann.cents + bob.cents << "\n";
}
