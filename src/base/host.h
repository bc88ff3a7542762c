// SPDX-License-Identifier: Apache-2.0
// host.h - the names of this machine and process, for people who ask who holds a key.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// "host:HOST pid:PID guid:GUID", the way Ruby's locker names a holder; `guid` may be its beginning.
std::string owner_name(std::string_view guid);

// What such a name is made of; none of any other.
struct Whereabouts {
  std::string host;
  std::string pid;
};
std::optional<Whereabouts> whereabouts(std::string_view owner);

// "olga@HOST pid PID", for what a person does by hand; "olga as root@…" behind sudo.
std::string user_at_host();

}  // namespace holdfast
