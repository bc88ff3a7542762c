// SPDX-License-Identifier: Apache-2.0
// hello.cpp - one lease, from acquire to release.
#include <holdfast/holdfast.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  // A file beside us, made if it is not there.
  auto client = holdfast::open("sqlite:leases.db");
  {
    holdfast::Lease lease = client.acquire("greeting", {.ttl = 30s, .wait = 5s});
    std::cout << "I hold " << lease.key() << "\n";

    // Whoever comes now is told that it is busy, and who holds it.  That is an answer, not an error.
    auto second = client.try_acquire("greeting");
    if (!second && second.error().busy() && second.error().owner == lease.owner())
      std::cout << "a second one is told: busy, and by whom\n";
  }  // released

  holdfast::Lease again = client.acquire("greeting");
  std::cout << "released, and held again: " << std::boolalpha << again.held() << "\n";
}
