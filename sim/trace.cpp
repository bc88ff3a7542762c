// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.h"

#include <cstdio>

namespace holdfast::sim {

std::string to_string(const Event& e) {
  char seconds[32];
  (void)std::snprintf(seconds, sizeof seconds, "%11.6f  ", std::chrono::duration<double>(e.at).count());
  std::string text = seconds;
  text +=
      e.process == 0 ? "store     " : "process " + std::to_string(e.process) + (e.process < 10 ? " " : "");
  text += " " + std::string(e.what);
  if (e.key >= 0) text += " k" + std::to_string(e.key);
  if (e.attempt_id >= 0) text += " attempt " + std::to_string(e.attempt_id);
  if (e.token != no_token) text += " token " + std::to_string(to_number(e.token));
  if (*e.more != '\0') text += " " + std::string(e.more);
  return text;
}

void Trace::mix(const char* text) noexcept {
  for (; *text != '\0'; ++text) mix(static_cast<std::uint64_t>(static_cast<unsigned char>(*text)));
}

void Trace::note(const Event& e) {
  mix(static_cast<std::uint64_t>(e.at.count()));
  mix(e.process);
  mix(static_cast<std::uint64_t>(e.key + 1));
  mix(static_cast<std::uint64_t>(e.attempt_id + 1));
  mix(to_number(e.token));
  mix(e.what);
  mix(e.more);
  if (printed_) std::puts(to_string(e).c_str());
  last_.push_back(e);
  if (last_.size() > remembered) last_.pop_front();
}

}  // namespace holdfast::sim
