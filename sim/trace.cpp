// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.h"

#include <cstdio>

namespace holdfast::sim {

std::string to_string(const Event& e) {
  std::string text(160, '\0');
  const double seconds = std::chrono::duration<double>(e.at).count();
  int n = std::snprintf(text.data(), text.size(), "%11.6f  ", seconds);
  const auto add = [&](const char* format, auto... values) {
    const auto used = static_cast<std::size_t>(n);
    if (used < text.size()) n += std::snprintf(text.data() + used, text.size() - used, format, values...);
  };
  if (e.process == 0)
    add("store     ");
  else
    add("process %zu%s", e.process, e.process < 10 ? " " : "");
  add(" %s", e.what);
  if (e.key >= 0) add(" k%d", e.key);
  if (e.attempt_id >= 0) add(" attempt %d", e.attempt_id);
  if (e.token != no_token) add(" token %llu", static_cast<unsigned long long>(to_number(e.token)));
  if (*e.more != '\0') add(" %s", e.more);
  text.resize(std::min(static_cast<std::size_t>(n), text.size() - 1));
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
