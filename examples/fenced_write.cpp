// SPDX-License-Identifier: Apache-2.0
// fenced_write.cpp - a holder that was paused wakes up too late and writes.  Without a fence it destroys what
// the next holder wrote; with one, the resource refuses it.
#include <holdfast/holdfast.h>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

// What the lease protects: a file, a row, a device.
class Document {
 public:
  void write(std::string text) { text_ = std::move(text); }
  // First contact, even to read, carries the token: from here on all older holders are refused.
  bool write_fenced(std::string text, holdfast::Token token) {
    auto pass = fence_.try_enter(token);  // nobody else is inside until it is gone
    if (pass) write(std::move(text));
    return pass.has_value();
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "empty";
  holdfast::FenceGuard fence_;  // remembers the largest token it has seen
};

int main() {
  auto client = holdfast::open("sqlite:leases.db");
  Document bare, fenced;

  holdfast::Lease old = client.acquire("document", {.ttl = 2s, .keep = false});
  const bool looked = old.held();  // true: and now, before it writes, the old holder is paused

  holdfast::Lease next = client.acquire("document", {.wait = holdfast::forever});
  bare.write("new");
  fenced.write_fenced("new", next.token());

  if (looked) {  // the old holder wakes, and knows nothing
    bare.write("stale");
    const bool written = fenced.write_fenced("stale", old.token());
    std::cout << "the fence let it through: " << std::boolalpha << written << "\n";
  }
  std::cout << "without a fence: " << bare.text() << "\n";
  std::cout << "with a fence:    " << fenced.text() << "\n";
}
