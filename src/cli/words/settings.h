// SPDX-License-Identifier: Apache-2.0
// settings.h - which options of `run` and `acquire` a configuration may give.
#pragma once
#include <array>
#include <string_view>

#include "cli/words/given.h"

namespace holdfast::cli {

struct Setting {
  std::string_view name;       // the option's long name
  Text Given::*into;           // none: nonblock, which has no text
  bool of_acquire;             // not only of run
  std::string_view otherwise;  // what holds if nobody says, as it can be written
};

// Not among them: --owner, for all who use a name are one holder, and what one crontab line wants (--tick,
// --every).  wait and nonblock answer one question: whoever says one of them has said both.
inline constexpr std::array settings = {
    Setting{"ttl", &Given::ttl, true, "30s"},
    Setting{"wait", &Given::wait, true, "forever"},
    Setting{"nonblock", nullptr, true, "false"},
    Setting{"note", &Given::note, true, ""},
    Setting{"on-lost", &Given::on_lost, false, "term"},
    Setting{"kill-after", &Given::kill_after, false, "auto"},
    Setting{"at-least", &Given::at_least, false, "0s"},
    Setting{"at-most", &Given::at_most, false, "forever"},
    Setting{"conflict-exit-code", &Given::busy_code, false, "75"},
};

// What the option would say to that text on the command line.  Throws Failure, one sentence that begins with
// the setting's name.
void check_setting(const Setting& setting, const std::string& text);

}  // namespace holdfast::cli
