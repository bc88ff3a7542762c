// SPDX-License-Identifier: Apache-2.0
#include "base/host.h"

#include <unistd.h>

#include <climits>

#include "base/text.h"

namespace holdfast {

std::string holder_name(std::string_view guid) {
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') host[0] = '?';
  return "host:" + printable(host) + " pid:" + std::to_string(getpid()) + " guid:" + std::string(guid);
}

}  // namespace holdfast
