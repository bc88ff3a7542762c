// SPDX-License-Identifier: Apache-2.0
// top.cpp - `holdfast top [PREFIX]`: who holds what, on the whole screen.
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/epoll_set.h"
#include "cli/output.h"
#include "cli/run/signals.h"
#include "cli/top/async_queries.h"
#include "cli/top/canvas.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec top_options[] = {interval_option};

struct Top {
  std::string prefix;
  Millis interval{};
};

Top top_of(const Given& given) { return {given.word(0).value_or(""), interval_of(given)}; }

// The terminal is gone, and we got no signal.
bool is_hung_up(int fd) {
  pollfd about{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&about, 1, 0) == 1 && (about.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// We are in the background: another process group has the terminal.
bool is_in_background() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group > 0 && group != ::getpgrp();
}

// A break may have to wait for a refresh before it, and each may take five seconds.
constexpr Millis patience = 2 * std::chrono::seconds(5);

std::string sentence_of(const Broken& broken) {
  return "broke the lease on " + printable(broken.key) + ", which " + printable(short_owner(broken.owner)) +
         " held";
}

// Connects the keyboard, the store and the screen.
class TopLoop {
 public:
  TopLoop(StorePoller poller, Snapshot first, Millis interval)
      : interval_(interval),
        model_(poller.name()),
        wakeup_(std::make_shared<Wakeup>()),
        queries_(std::move(poller), wakeup_) {
    model_.update(std::move(first));
  }

  int run() {
    if (const auto signal = come_forward()) return end_by(*signal);
    return finish(loop());
  }

 private:
  int loop() {
    Canvas canvas(wants_colour(stdout));
    EpollSet input{STDIN_FILENO, signals_.fd()};
    Instant next_refresh = clamped_add(BootClock::now(), interval_);
    while (true) {
      draw(canvas);
      wakeup_->wait(model_.paused() ? Instant::max() : next_refresh, input.fd());
      if (const auto signal = take_signals(canvas)) return end_by(*signal);
      if (!take_keys(canvas) || is_hung_up(STDIN_FILENO)) return exit_ok;
      if (take_answers()) next_refresh = clamped_add(BootClock::now(), interval_);
      if (!model_.paused() && BootClock::now() >= next_refresh) {
        queries_.ask({.kind = TopAction::Kind::refresh});
        next_refresh = Instant::max();  // until the answer is there
      }
    }
  }

  void draw(Canvas& canvas) {
    const Screen screen = screen_of(model_, canvas.size(), model_.paused() ? model_.at() : wall_now());
    model_.limit_scroll(screen.most_scroll);
    canvas.paint(screen);
  }

  // Returns the signal that ends us.
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

  // Stops us until the terminal is ours.  Returns a signal that ends us before that; TTIN if no shell can
  // bring us to the foreground.
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

  // Waits for the results of confirmed breaks and reports them, although the user has quit.
  int finish(int code) {
    queries_.drop_all_but_breaks();
    const Instant enough = clamped_add(BootClock::now(), patience);
    while (queries_.breaks() > 0) {
      if (const auto answer = queries_.next()) {
        const auto* const broken = std::get_if<Result<Broken>>(&*answer);
        if (broken != nullptr) code = report(*broken, code);
      } else if (BootClock::now() >= enough || end_requested()) {
        return report(Error{Errc::in_doubt,
                            "the store does not answer, so it is unknown whether the lease was broken; look "
                            "with `holdfast show`"},
                      code);
      } else {
        wakeup_->wait(enough, signals_.fd());
      }
    }
    return code;
  }

  static int report(const Result<Broken>& broken, int code) {
    if (broken) return complain(sentence_of(*broken)), code;
    const int failed = fail(broken.error());
    return code == exit_ok ? failed : code;
  }

  bool end_requested() {
    while (const auto signal = signals_.next()) {
      if (meaning_of(*signal) == Meaning::ends) return true;
    }
    return false;
  }

  // False: the user quits.
  bool take_keys(Canvas& canvas) {
    while (const auto press = canvas.next()) {
      TopAction action = model_.press(*press, room_for_rows(canvas.size()));
      switch (action.kind) {
        case TopAction::Kind::nothing: break;
        case TopAction::Kind::quit: return false;
        case TopAction::Kind::refresh:
        case TopAction::Kind::inspect:
        case TopAction::Kind::break_lease: queries_.ask(std::move(action)); break;
      }
    }
    return true;
  }

  // True if there was a new snapshot.
  bool take_answers() {
    bool refreshed = false;
    while (auto answer = queries_.next()) {
      refreshed = std::holds_alternative<Result<Snapshot>>(*answer) || refreshed;
      std::visit([this](auto& result) { take(std::move(result)); }, *answer);
    }
    return refreshed;
  }

  void take(Result<Snapshot> snapshot) {
    if (!snapshot) return model_.set_unreachable(without_secrets(snapshot.error().detail));
    model_.update(*std::move(snapshot));
    if (model_.mode() == Model::Mode::inspect)
      queries_.ask({.kind = TopAction::Kind::inspect, .key = model_.inspected()});
  }
  void take(Result<Inspection> found) {
    if (!found) return model_.set_unreachable(without_secrets(found.error().detail));
    model_.update(*std::move(found));
  }
  void take(Result<Broken> broken) {
    if (!broken) return model_.show_message(without_secrets(broken.error().detail));
    model_.show_message(sentence_of(*broken));
    queries_.ask({.kind = TopAction::Kind::refresh});
  }

  Signals signals_;  // before the first thread
  const Millis interval_;
  Model model_;
  const std::shared_ptr<Wakeup> wakeup_;
  AsyncQueries queries_;
};

int execute(const Top& command, const Common& common) {
  if (common.json)
    return fail({Errc::invalid, "top draws on a terminal and has no --json; use `holdfast watch --json`"});
  if (const Status s = Canvas::check(); !s) return fail(s.error());
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  StorePoller poller(*std::move(found_store), common, command.prefix);
  auto first = poller.read();
  if (!first) return fail(first.error());
  return TopLoop(std::move(poller), *std::move(first), command.interval).run();
}

}  // namespace

constinit const CommandSpec commands::top{
    .name = "top",
    .usage = "[OPTION]... [PREFIX]",
    .purpose = "Show keys, holders and waiters on the whole screen",
    .options = top_options,
    .more = R"(  holdfast top
  holdfast top nightly/ --interval 5s)",
    .read = reads<top_of>,
};

}  // namespace holdfast::cli
