// SPDX-License-Identifier: Apache-2.0
// hello.cpp - one lease, from acquire to release.
#include <holdfast/holdfast.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  // A file beside us; a server's URL would do as well.
  auto client = holdfast::open("sqlite:leases.db");
  {
    holdfast::Lease lease = client.acquire("greeting", {.ttl = 30s, .wait = 5s});
    std::cout << "I hold " << lease.key() << "\n";

    // Whoever comes now is told that it is busy, and by whom.  That is an answer, not an error.
    auto second = client.try_acquire("greeting");
    if (!second && second.error().busy())
      std::cout << "a second one does not: " << (second.error().holder == lease.owner() ? "I do" : "?")
                << "\n";
  }  // released

  holdfast::Lease again = client.acquire("greeting");
  std::cout << "released, and held again: " << std::boolalpha << again.held() << "\n";
}
