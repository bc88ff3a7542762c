// SPDX-License-Identifier: Apache-2.0
// top.cpp - `holdfast top [PREFIX]`: who holds what, on the whole screen.
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/any_of.h"
#include "cli/run/signals.h"
#include "cli/top/async_queries.h"
#include "cli/top/canvas.h"

namespace holdfast::cli {
namespace {

// The terminal is gone, and nobody has told us by a signal.
bool is_hung_up(int fd) {
  pollfd about{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&about, 1, 0) == 1 && (about.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// A shell has put us into the background, and the terminal is its own or another's.
bool is_in_background() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group > 0 && group != ::getpgrp();
}

// What may hang before a break is answered: the look before it, and the break.
constexpr Millis patience = 2 * std::chrono::seconds(5);

std::string sentence_of(const Broken& broken) {
  return "broke the lease on " + printable(broken.key) + ", which " + printable(short_owner(broken.owner)) +
         " held";
}

// Connects the keyboard, the store and the screen.
class OnScreen {
 public:
  OnScreen(StorePoller poller, Look first, Millis interval)
      : interval_(interval),
        model_(poller.name()),
        wakeup_(std::make_shared<Wakeup>()),
        queries_(std::move(poller), wakeup_) {
    model_.take(std::move(first));
  }

  int go() {
    if (const auto signal = come_forward()) return end_by(*signal);
    return settle(attend());
  }

 private:
  int attend() {
    Canvas canvas(wants_colour(stdout));
    AnyOf news{STDIN_FILENO, signals_.fd()};
    Instant next_look = clamped_add(BootClock::now(), interval_);
    while (true) {
      draw(canvas);
      wakeup_->wait(model_.paused() ? Instant::max() : next_look, news.fd());
      if (const auto signal = take_signals(canvas)) return end_by(*signal);
      if (!take_keys(canvas) || is_hung_up(STDIN_FILENO)) return exit_ok;
      if (take_answers()) next_look = clamped_add(BootClock::now(), interval_);
      if (!model_.paused() && BootClock::now() >= next_look) {
        queries_.ask({.kind = RunRequest::Kind::look});
        next_look = Instant::max();  // until the answer is there
      }
    }
  }

  void draw(Canvas& canvas) {
    const Screen screen = screen_of(model_, canvas.size(), model_.paused() ? model_.at() : wall_now());
    model_.limit_scroll(screen.most_scroll);
    canvas.paint(screen);
  }

  // The one that ends us.
  std::optional<int> take_signals(Canvas& canvas) {
    while (const auto signal = signals_.next()) {
      const Meaning meaning = meaning_of(*signal);
      if (is_in_background()) canvas.give_up();
      if (meaning == Meaning::ends) return signal;
      if (meaning == Meaning::stops && !is_in_background()) {
        canvas.leave();
        Signals::stop_own_group();
      }
      if (const auto end = come_forward()) return end;
      canvas.repaint();
    }
    return std::nullopt;
  }

  // Stopped, until the terminal is ours.  The signal that ends us before; TTIN: nobody can bring us forward.
  std::optional<int> come_forward() {
    while (is_in_background()) {
      while (const auto signal = signals_.next()) {
        if (meaning_of(*signal) == Meaning::ends) return signal;
      }
      if (!Signals::stop_own_group()) return SIGTTIN;
    }
    return std::nullopt;
  }

  int end_by(int signal) {
    if (signal != SIGTTIN) return exit_signalled(signal);
    return fail({Errc::invalid, "top needs the terminal, but no shell can bring it to the foreground"});
  }

  // Whoever confirmed a break and leaves before it is answered shall know what came of it.
  int settle(int code) {
    queries_.drop_all_but_breaks();
    const Instant enough = clamped_add(BootClock::now(), patience);
    while (queries_.breaks() > 0) {
      if (const auto answer = queries_.next()) {
        const auto* const broken = std::get_if<Result<Broken>>(&*answer);
        if (broken != nullptr) code = told(*broken, code);
      } else if (BootClock::now() >= enough || is_told_to_end()) {
        return told(Error{Errc::in_doubt,
                          "the store does not answer, so it is unknown whether the lease was broken; look "
                          "with `holdfast show`"},
                    code);
      } else {
        wakeup_->wait(enough, signals_.fd());
      }
    }
    return code;
  }

  static int told(const Result<Broken>& broken, int code) {
    if (broken) return complain(sentence_of(*broken)), code;
    const int failed = fail(broken.error());
    return code == exit_ok ? failed : code;
  }

  bool is_told_to_end() {
    while (const auto signal = signals_.next()) {
      if (meaning_of(*signal) == Meaning::ends) return true;
    }
    return false;
  }

  // False: somebody has had enough.
  bool take_keys(Canvas& canvas) {
    while (const auto press = canvas.next()) {
      RunRequest wish = model_.press(*press, room_for_rows(canvas.size()));
      switch (wish.kind) {
        case RunRequest::Kind::nothing: break;
        case RunRequest::Kind::end: return false;
        case RunRequest::Kind::look:
        case RunRequest::Kind::inspect:
        case RunRequest::Kind::break_lease: queries_.ask(std::move(wish)); break;
      }
    }
    return true;
  }

  // True: the store has been looked at.
  bool take_answers() {
    bool looked = false;
    while (auto answer = queries_.next()) {
      looked = std::holds_alternative<Result<Look>>(*answer) || looked;
      std::visit([this](auto& result) { take(std::move(result)); }, *answer);
    }
    return looked;
  }

  void take(Result<Look> look) {
    if (!look) return model_.miss(without_secrets(look.error().detail));
    model_.take(*std::move(look));
    if (model_.mode() == Model::Mode::inspect)
      queries_.ask({.kind = RunRequest::Kind::inspect, .key = model_.inspected()});
  }
  void take(Result<Inspection> found) {
    if (!found) return model_.miss(without_secrets(found.error().detail));
    model_.take(*std::move(found));
  }
  void take(Result<Broken> broken) {
    if (!broken) return model_.tell(without_secrets(broken.error().detail));
    model_.tell(sentence_of(*broken));
    queries_.ask({.kind = RunRequest::Kind::look});
  }

  Signals signals_;  // before the first thread
  const Millis interval_;
  Model model_;
  const std::shared_ptr<Wakeup> wakeup_;
  AsyncQueries queries_;
};

}  // namespace

int execute(const Top& command, const Common& common) {
  if (common.json)
    return fail({Errc::invalid, "top draws on a terminal and has no --json; use `holdfast watch --json`"});
  if (const Status s = Canvas::check(); !s) return fail(s.error());
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  StorePoller poller(*std::move(looked), common, command.prefix);
  auto first = poller.look();
  if (!first) return fail(first.error());
  return OnScreen(std::move(poller), *std::move(first), command.interval).go();
}

}  // namespace holdfast::cli
