// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/index.h"

#include "stores/redis/fault.h"

namespace holdfast::redis {

std::vector<std::string> keys_of_index(Link& link, const Stretch& stretch, Instant until) {
  Wire& wire = link.ready(until);
  Command command = wire.command(7);
  command.word("ZRANGEBYLEX").word(stretch.index);
  if (!stretch.after.empty() && stretch.after >= stretch.prefix)
    command.word("(", stretch.after);
  else
    command.word("[", stretch.prefix);
  // No key is longer by this byte, which UTF-8 does not have.
  if (stretch.prefix.empty())
    command.word("+");
  else
    command.word("(", stretch.prefix, "\xff");
  command.word("LIMIT").word("0").number(stretch.limit);
  wire.send(until);
  const Answer answer = wire.receive(until);
  if (answer->is_error()) throw_failure(to_error(answer->text(), link.config()));
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < answer->size(); ++i) keys.emplace_back((*answer)[i].text());
  return keys;
}

}  // namespace holdfast::redis
