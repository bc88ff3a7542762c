// SPDX-License-Identifier: Apache-2.0
// top.cpp - `holdfast top [PREFIX]`: who holds what, on the whole screen.
#include <poll.h>
#include <unistd.h>

#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/any_of.h"
#include "cli/run/signals.h"
#include "cli/top/canvas.h"
#include "cli/top/desk.h"

namespace holdfast::cli {
namespace {

// The terminal is gone, and nobody has told us by a signal.
bool is_hung_up(int fd) {
  pollfd about{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&about, 1, 0) == 1 && (about.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// Connects the keyboard, the store and the screen.
class OnScreen {
 public:
  OnScreen(Eye eye, Look first, Millis interval)
      : interval_(interval),
        model_(eye.name()),
        bell_(std::make_shared<Wakeup>()),
        desk_(std::move(eye), bell_) {
    model_.take(std::move(first));
  }

  int go() {
    Canvas canvas(wants_colour(stdout));
    AnyOf news{STDIN_FILENO, signals_.fd()};
    Instant next_look = after(BootClock::now(), interval_);
    while (true) {
      draw(canvas);
      bell_->wait(model_.paused() ? Instant::max() : next_look, news.fd());
      if (const auto signal = take_signals(canvas)) return exit_signalled(*signal);
      if (!take_keys(canvas) || is_hung_up(STDIN_FILENO)) return exit_ok;
      if (take_answers()) next_look = after(BootClock::now(), interval_);
      if (!model_.paused() && BootClock::now() >= next_look) {
        desk_.ask({.kind = Wish::Kind::look});
        next_look = Instant::max();  // until the answer is there
      }
    }
  }

 private:
  void draw(Canvas& canvas) {
    const Screen screen = screen_of(model_, canvas.size(), model_.paused() ? model_.at() : wall_now());
    model_.limit_scroll(screen.most_scroll);
    canvas.paint(screen);
  }

  // The one that ends us.
  std::optional<int> take_signals(Canvas& canvas) {
    while (const auto signal = signals_.next()) {
      const Meaning meaning = meaning_of(*signal);
      if (meaning == Meaning::ends) return signal;
      if (meaning == Meaning::stops) {
        canvas.leave();
        Signals::stop_own_group();
      }
      canvas.repaint();
    }
    return std::nullopt;
  }

  // False: somebody has had enough.
  bool take_keys(Canvas& canvas) {
    while (const auto press = canvas.next()) {
      Wish wish = model_.press(*press, room_for_rows(canvas.size()));
      switch (wish.kind) {
        case Wish::Kind::nothing: break;
        case Wish::Kind::end: return false;
        case Wish::Kind::look:
        case Wish::Kind::inspect:
        case Wish::Kind::break_lease: desk_.ask(std::move(wish)); break;
      }
    }
    return true;
  }

  // True: the store has been looked at.
  bool take_answers() {
    bool looked = false;
    while (auto answer = desk_.next()) {
      looked = std::holds_alternative<Result<Look>>(*answer) || looked;
      std::visit([this](auto& result) { take(std::move(result)); }, *answer);
    }
    return looked;
  }

  void take(Result<Look> look) {
    if (!look) return model_.miss(without_secrets(look.error().detail));
    model_.take(*std::move(look));
    if (model_.mode() == Model::Mode::inspect)
      desk_.ask({.kind = Wish::Kind::inspect, .key = model_.inspected()});
  }
  void take(Result<Inspection> found) {
    if (!found) return model_.miss(without_secrets(found.error().detail));
    model_.take(*std::move(found));
  }
  void take(Result<Broken> broken) {
    if (!broken) return model_.tell(without_secrets(broken.error().detail));
    model_.tell(printable(broken->key) + " is taken away from " + printable(short_holder(broken->holder)));
    desk_.ask({.kind = Wish::Kind::look});
  }

  Signals signals_;  // before the first thread
  const Millis interval_;
  Model model_;
  const std::shared_ptr<Wakeup> bell_;
  Desk desk_;
};

}  // namespace

int execute(const Top& command, const Common& common) {
  if (common.json)
    return fail({Errc::invalid,
                 "top draws on a terminal and has no --json: holdfast watch --json tells what happens"});
  if (const Status s = Canvas::check(); !s) return fail(s.error());
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  Eye eye(*std::move(looked), common, command.prefix);
  auto first = eye.look();
  if (!first) return fail(first.error());
  return OnScreen(std::move(eye), *std::move(first), command.interval).go();
}

}  // namespace holdfast::cli
