// SPDX-License-Identifier: Apache-2.0
#include <holdfast/holdfast.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  auto client = holdfast::open("sqlite:leases.db");
  holdfast::Lease lease = client.acquire("nightly-report", {.ttl = 30s, .wait = 5s});
  std::cout << "token " << holdfast::to_number(lease.token()) << "\n";
  lease.release();
}
