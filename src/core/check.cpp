// SPDX-License-Identifier: Apache-2.0
#include "core/check.h"

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "core/timing.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_name = 512;
constexpr std::size_t longest_text = 4096;
constexpr Millis shortest_ttl = 20ms;
constexpr Millis longest_ttl = 24h * 36525;

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

std::string shown(std::string_view text) {
  // A user may have given a whole URL in the place of a name.
  const std::string open = redacted(text);
  return "\"" + printable(std::string_view(open).substr(0, 40)) + (open.size() > 40 ? "…\"" : "\"");
}

Status check_name(std::string_view name, const std::string& what) {
  if (name.empty()) return invalid("the " + what + " is empty; give 1 to 512 bytes of UTF-8");
  if (name.size() > longest_name) {
    return invalid("the " + what + " " + shown(name) + " has " + std::to_string(name.size()) +
                   " bytes; at most 512 are allowed");
  }
  if (name.find('\0') != std::string_view::npos) {
    return invalid("the " + what + " " + shown(name) + " contains a NUL byte; give UTF-8 without NUL");
  }
  if (!is_utf8(name))
    return invalid("the " + what + " " + shown(name) + " is not valid UTF-8; give UTF-8 without NUL");
  return Status{};
}

}  // namespace

Status check_key(std::string_view key) { return check_name(key, "key"); }

Status check_owner(std::string_view owner) { return check_name(owner, "owner"); }

Status check_ttl(Millis ttl) {
  if (ttl == never) return Status{};
  if (ttl < shortest_ttl)
    return invalid("a ttl of " + std::to_string(ttl.count()) + "ms is too short; give at least 20ms");
  if (ttl > longest_ttl)
    return invalid("a ttl of " + format_duration(ttl) + " is too long; give at most 100 years, or never");
  return Status{};
}

Status check_text(std::string_view text, const char* what) {
  if (text.size() > longest_text)
    return invalid(std::string(what) + " has " + std::to_string(text.size()) + " bytes; give at most 4096");
  if (text.find('\0') != std::string_view::npos)
    return invalid(std::string(what) + " " + shown(text) + " contains a NUL byte; give UTF-8 without NUL");
  if (!is_utf8(text))
    return invalid(std::string(what) + " " + shown(text) + " is not valid UTF-8; give UTF-8 without NUL");
  return Status{};
}

Status check_options(const AcquireOptions& options) {
  return core::check_terms(core::settle(options, {}), {});
}

namespace core {

Status check_extension(Millis more) {
  if (more <= 0ms)
    return invalid("a lease cannot be extended by " + std::to_string(more.count()) +
                   "ms; give a time above 0");
  return check_ttl(std::max(more, shortest_ttl));
}

Status check_terms(const Terms& o, std::optional<Millis> margin) {
  if (Status s = check_ttl(o.ttl); !s) return s;
  if (o.owner) {
    if (Status s = check_owner(*o.owner); !s) return s;
    if (whereabouts(*o.owner))
      return invalid("the owner " + shown(*o.owner) +
                     " has the form of a name that Holdfast generates for a process; give another name");
  }
  if (Status s = check_text(o.note, "the note"); !s) return s;
  if (o.wait < 0ms)
    return invalid("a wait of " + std::to_string(o.wait.count()) + "ms is negative; give 0 or more");
  if (o.attempts < 0)
    return invalid("a limit of " + std::to_string(o.attempts) +
                   " attempts is negative; give 1 or more, or 0 for no limit");
  if (o.interval && o.attempts == 0 && o.wait == 0ms) {
    return invalid(
        "an interval between attempts is given, but neither a wait nor a limit of attempts; give one of "
        "them");
  }
  if (o.renew_every < 0ms)
    return invalid("renew_every is negative; give a time below the ttl, or 0 for a third of it");
  const Millis limit = margin_of(o.ttl, margin, 0ms);
  if (o.ttl != never && limit >= o.ttl - limit) {
    return invalid("a margin of " + format_duration(limit) + " is too large for a ttl of " +
                   format_duration(o.ttl) + "; give a margin below half the ttl");
  }
  if (o.ttl != never && o.renew_every >= o.ttl - limit) {
    return invalid("renew_every is " + format_duration(o.renew_every) +
                   ", but has to be shorter than the ttl of " + format_duration(o.ttl) +
                   " minus the margin; give a shorter time, or 0 for a third of the ttl");
  }
  if (o.max_renewals && *o.max_renewals < 0) return invalid("max_renewals is negative; give 0 or more");
  return Status{};
}

}  // namespace core

}  // namespace holdfast
