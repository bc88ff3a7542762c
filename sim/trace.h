// SPDX-License-Identifier: Apache-2.0
// trace.h - what happened, as a hash of everything, the last events for people, or all of them.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "holdfast/spi/store.h"
#include "sim/clocks.h"

namespace holdfast::sim {

// One thing that happened.  Formatted only when somebody looks.
struct Event {
  True at{};
  std::size_t process;  // 0: the world or the store
  const char* what;     // a literal
  int key = -1;
  int attempt_id = -1;  // whose
  Token token = no_token;
  const char* more = "";
};
std::string to_string(const Event& event);

class Trace {
 public:
  explicit Trace(bool printed) : printed_(printed) {}
  void note(const Event& event);
  std::uint64_t hash() const noexcept { return hash_; }
  const std::deque<Event>& last() const noexcept { return last_; }

 private:
  void mix(std::uint64_t number) noexcept { hash_ = (hash_ ^ number) * 0x100000001B3ULL; }
  void mix(const char* text) noexcept;

  static constexpr std::size_t remembered = 60;
  const bool printed_;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
  std::deque<Event> last_;
};

}  // namespace holdfast::sim
