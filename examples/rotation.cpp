// SPDX-License-Identifier: Apache-2.0
// rotation.cpp - three processes take turns, in order, without a sleep: waiters are served in the order in
// which they came, and each release wakes the next one and nobody else.
#include <holdfast/holdfast.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

constexpr int rounds = 3;
constexpr const char* names[] = {"ann", "bob", "cat"};

// Returns when so many stand in line for the turn.
void await_waiters(const holdfast::Client& client, std::size_t count) {
  holdfast::Admin by_hand(client);
  while (by_hand.inspect("turn").places.size() < count) continue;
}

// Whoever gives the turn back and asks again stands behind all who wait: so it goes round.
void take_turns(const char* name) {
  auto client = holdfast::open("sqlite:leases.db");
  for (int round = 1; round <= rounds; ++round) {
    holdfast::Lease turn = client.acquire("turn", {.wait = holdfast::forever});
    std::cout << "round " << round << ": " << name << std::endl;
    // Somebody slow to ask again would lose its place in the order: we give them the time.
    if (round < rounds) await_waiters(client, std::size(names) - 1);
  }  // released
}

int main() {
  // We hold the turn until all three stand in line, one behind the other.
  auto client = holdfast::open("sqlite:leases.db");
  holdfast::Lease start = client.acquire("turn");
  std::size_t started = 0;
  for (const char* name : names) {
    if (::fork() == 0) {  // the child must not use our client: it opens its own
      take_turns(name);
      ::_exit(0);
    }
    await_waiters(client, ++started);
  }
  start.release();
  while (::wait(nullptr) > 0) continue;
}
