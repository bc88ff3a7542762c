// SPDX-License-Identifier: Apache-2.0
// The URL of any store, up to where it would connect: whatever stands around it, the password is in nothing
// that is said.
#include <string>

#include "fuzz/target.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view canary = "c4n4ry";
  const std::string text(holdfast::fuzz::text_of(data, size));
  (void)holdfast::try_store(text);
  if (text.find("4n4") != std::string::npos) return -1;  // what is no password may be shown
  for (const char* start : {"postgres://ann:", "redis://ann:", "rediss://:"}) {
    const auto store = holdfast::try_store(start + std::string(canary) + "@" + text);
    const std::string said = store ? (*store)->name() : store.error().detail;
    holdfast::fuzz::require(said.find(canary) == std::string::npos, "the password is hidden", said);
  }
  return 0;
}
