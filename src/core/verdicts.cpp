// SPDX-License-Identifier: Apache-2.0
#include "core/verdicts.h"

#include "base/text.h"

namespace holdfast::core {

Released released_by(const Reply& reply, OwnerView owner, Token token) {
  if (reply.verdict == Verdict::released) return Released::released;
  if (reply.token == no_token) return Released::never_held;
  if (token != no_token && reply.token > token) return Released::stolen;
  if (reply.owner == owner.text)
    return reply.remaining == Millis::zero() ? Released::expired : Released::stolen;
  if (reply.owner.empty()) return Released::already_released;
  return token == no_token ? Released::never_held : Released::stolen;
}

Lost lost_by(const Reply& reply, OwnerView owner, Token token) {
  const bool held_by_other = reply.remaining > Millis::zero() && reply.owner != owner.text;
  if (held_by_other) return {Loss::stolen, "taken over by " + printable(reply.owner)};
  if (reply.token > token) return {Loss::stolen, "the key has been granted to another owner since"};
  if (reply.token == no_token) return {Loss::gone, "the store has no record of the lease any more"};
  if (reply.owner == owner.text) return {Loss::gone, "the lease had expired in the store"};
  return {Loss::gone, "the lease was released by somebody else"};
}

void set_reason_from_log(Lost& lost, const Page& log, OwnerView owner, Token token) {
  for (const LogRow& row : log.log) {
    if (row.token != token || row.owner != owner.text) continue;
    if (row.event == "broken") {
      lost.reason = Loss::broken;
      lost.detail =
          "broken by " + printable(row.by) + (row.reason.empty() ? "" : ": " + printable(row.reason));
      return;
    }
    if (row.event == "taken-over") {
      lost.reason = Loss::stolen;
      lost.detail = "taken over by " + printable(row.by);
      return;
    }
  }
}

}  // namespace holdfast::core
