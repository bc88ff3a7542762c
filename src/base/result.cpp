// SPDX-License-Identifier: Apache-2.0
#include "holdfast/result.h"

#include "holdfast/version.h"

namespace holdfast {

#define HOLDFAST_TEXT_(x) #x
#define HOLDFAST_TEXT(x) HOLDFAST_TEXT_(x)

const char* version() noexcept {
  return HOLDFAST_TEXT(HOLDFAST_VERSION_MAJOR) "." HOLDFAST_TEXT(HOLDFAST_VERSION_MINOR) "." HOLDFAST_TEXT(
      HOLDFAST_VERSION_PATCH);
}

const char* to_string(Errc code) noexcept {
  switch (code) {
    case Errc::busy: return "busy";
    case Errc::timeout: return "timeout";
    case Errc::exhausted: return "exhausted";
    case Errc::stopped: return "stopped";
    case Errc::too_late: return "too_late";
    case Errc::lost: return "lost";
    case Errc::unavailable: return "unavailable";
    case Errc::in_doubt: return "in_doubt";
    case Errc::refused: return "refused";
    case Errc::unprepared: return "unprepared";
    case Errc::invalid: return "invalid";
    case Errc::forked: return "forked";
  }
  return "?";
}

const char* to_string(Loss loss) noexcept {
  switch (loss) {
    case Loss::none: return "none";
    case Loss::unreachable: return "unreachable";
    case Loss::stolen: return "stolen";
    case Loss::broken: return "broken";
    case Loss::gone: return "gone";
    case Loss::forked: return "forked";
  }
  return "?";
}

bool Error::retryable() const noexcept {
  switch (code) {
    case Errc::busy:
    case Errc::timeout:
    case Errc::exhausted:
    case Errc::too_late:
    case Errc::unavailable:
    case Errc::in_doubt: return true;
    case Errc::stopped:
    case Errc::lost:
    case Errc::refused:
    case Errc::unprepared:
    case Errc::invalid:
    case Errc::forked: return false;
  }
  return false;
}

void throw_failure(Error error) {
  if (error.code == Errc::lost) throw LeaseLost(std::move(error));
  throw Failure(std::move(error));
}

}  // namespace holdfast
