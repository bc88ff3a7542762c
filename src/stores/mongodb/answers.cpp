// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/answers.h"

#include "base/url.h"

namespace holdfast::mongodb {

void read_probe(View answer, Facts& facts) {
  facts.arbiters.clear();
  for (const std::string_view arbiter : answer.texts("arbiters")) facts.arbiters.emplace_back(arbiter);
  facts.processes.emplace_back(answer["topologyVersion"].object_id("processId"));
}

void read_server_status(View answer, Facts& facts) {
  const View engine = answer["storageEngine"];
  const bool forgets = engine.has("persistent") && !engine.flag("persistent");
  if (forgets || engine.text("name") == "inMemory") facts.engine = engine.text("name");
}

void read_command_line(View answer, Facts& facts) {
  const View net = answer["parsed"]["net"], security = answer["parsed"]["security"];
  bool to_others = net.flag("bindIpAll");
  for (std::string_view rest = net.text("bindIp"); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    to_others = to_others || (!one.empty() && one.front() != '/' && !is_local(one));
  }
  // A key file for the members switches users on as well.
  const bool knows_users = security.text("authorization") == "enabled" || !security.text("keyFile").empty();
  facts.open = to_others && !knows_users;
}

void read_set(View answer, Facts& facts) {
  constexpr const char* journaled = "writeConcernMajorityJournalDefault";
  const View settings = answer["config"];
  facts.unjournaled = settings.has(journaled) && !settings.flag(journaled);
}

// A number of members, or "majority", or a name that was given to some.  Nobody has given one, and none is
// told: with arbiters that is one member.
void read_default_concern(View answer, Facts& facts) {
  const View concern = answer["defaultWriteConcern"];
  if (concern.has("w"))
    facts.weak_default = concern.text("w").empty() && concern.number("w") <= 1;
  else
    facts.weak_default = answer.text("defaultWriteConcernSource") == "implicit";
}

}  // namespace holdfast::mongodb
