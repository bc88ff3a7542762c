// SPDX-License-Identifier: Apache-2.0
// leader.cpp - two candidates, one leader; the leader is killed and the other takes over at once.
#include <holdfast/holdfast.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iostream>

using namespace std::chrono_literals;

// What each candidate runs: wait for the office, hold it for as long as we live.
[[noreturn]] void stand_for_office(const std::string& name) {
  auto client = holdfast::open("sqlite:leases.db");
  // An hour: if the ttl had to pass before the next could lead, you would notice.
  holdfast::Lease office = client.acquire("leader", {.ttl = 1h, .wait = holdfast::forever, .note = name});
  std::ofstream("reports") << name << " leads" << std::endl;
  for (;;) ::pause();  // here the leader would do its work, with an eye on office.stop_token()
}

pid_t start(const std::string& name) {
  const pid_t pid = ::fork();
  if (pid == 0) stand_for_office(name);  // with a client of its own: after fork() ours is of no use
  return pid;
}

// The next report; waits for it.  Empty: of somebody who was killed before it had closed its end.
std::string report() {
  std::string line;
  while (line.empty()) std::getline(std::ifstream("reports") >> std::ws, line);
  return line;
}

void await_a_waiter(holdfast::Admin& by_hand) {
  while (by_hand.inspect("leader").places.empty()) continue;
}

int main() {
  if (::mkfifo("reports", 0600) != 0) return 1;
  holdfast::Admin by_hand(holdfast::open("sqlite:leases.db"));
  const pid_t ann = start("ann");
  std::cout << report() << "\n";
  const pid_t bob = start("bob");
  await_a_waiter(by_hand);
  std::cout << "bob waits, ann is killed\n";

  ::kill(ann, SIGKILL);
  std::cout << report() << "\n";
  for (const auto& entry : by_hand.inspect("leader").log) std::cout << "in the log: " << entry.event << "\n";

  ::kill(bob, SIGKILL);
  while (::wait(nullptr) > 0) continue;
}
