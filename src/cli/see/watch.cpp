// SPDX-License-Identifier: Apache-2.0
// watch.cpp - `holdfast watch [PREFIX]`: a line for each event.
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/see/store_poller.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec watch_options[] = {interval_option};

struct Watch {
  std::string prefix;
  Millis interval{};
};

Watch watch_of(const Given& given) { return {given.word(0).value_or(""), interval_of(given)}; }

std::string line_of_change(const Change& change) {
  std::string event = to_string(change.event);
  event.resize(10, ' ');
  return format_wall(change.at) + "  " + event + "  " + printable(change.key) + ": " + sentence_of(change);
}

int execute(const Watch& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  StorePoller poller(*std::move(found_store), common, command.prefix);
  ChangeTracker tracker;
  return PollLoop(poller, command.interval).run([&](Snapshot snapshot) -> Status {
    for (const Change& change : tracker.update(std::move(snapshot))) {
      if (change.event == Event::renewed) continue;  // every live holder renews
      if (Status s = print_now(common.json ? json_of(change) : line_of_change(change)); !s) return s;
    }
    return Status{};
  });
}

}  // namespace

constinit const CommandSpec commands::watch{
    .name = "watch",
    .usage = "[OPTION]... [PREFIX]",
    .purpose = "Show what happens to keys, one line for each event",
    .options = watch_options,
    .more =
        R"(Runs until Ctrl-C. It asks the store once per interval and may miss what lasts shorter. It does not miss
take-overs and breaks: the store records them.

  holdfast watch nightly/
  holdfast watch --json | jq -r 'select(.event == "broken")')",
    .read = reads<watch_of>,
};

}  // namespace holdfast::cli
