// SPDX-License-Identifier: Apache-2.0
#include "cli/run/wait_for_lease.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "base/wakeup.h"
#include "cli/connect_retry.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience = 1s;  // with a store that hangs

// ---- acquiring

// Shared with the thread that acquires.
struct Attempt {
  explicit Attempt(RunRequest r) : request(std::move(r)) { request.options.stop = stop.get_token(); }

  std::stop_source stop;
  RunRequest request;
  Wakeup wakeup;
  std::optional<Result<Granted>> outcome;  // written before `done`, read after it
  std::atomic<bool> done = false;
};

Result<Granted> acquire(const RunRequest& request) {
  auto store = try_store(request.url);
  if (!store) return std::move(store).error();
  const WaitingLine line{Admin(*store), request.key};
  AcquireOptions options = request.options;
  ConnectRetry retry(options.wait.value_or(Millis::zero()), options.stop);
  auto client = retry.connect([&] {
    ClientOptions how = with_notices(request.quiet);
    how.connect_wait = retry.for_opening();
    return Client::try_make(*store, std::move(how));
  });
  if (!client) return std::move(client).error();
  options.wait = retry.left();
  auto lease = client->try_acquire(request.key, options);
  if (!lease) return std::move(lease).error();
  if (request.admit) {
    if (Status s = request.admit(*client, *lease); !s) {
      (void)lease->try_release();
      return std::move(s).error();
    }
  }
  return Granted{*std::move(store), *std::move(client), *std::move(lease)};
}

void work(Attempt& attempt) {
  try {
    attempt.outcome = acquire(attempt.request);
  } catch (const std::exception& e) {  // out of memory or descriptors
    attempt.outcome = Error{Errc::unavailable, e.what()};
  }
  attempt.done = true;
  attempt.wakeup.ring();
}

// The signal that ends the wait; 0: none arrived.
int ending_signal(Signals& signals) {
  while (const auto signal = signals.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends: return *signal;
      case Meaning::stops: Signals::stop_own_group(); break;
      case Meaning::passes:
      case Meaning::continues:
      case Meaning::child: break;
    }
  }
  return 0;
}

// ---- the line on the terminal

constexpr Millis shown_after = 250ms;
constexpr Millis refreshed_every = 1s;
constexpr std::string_view erase_line = "\r\033[K";

// Cuts between characters.  A line that wraps could not be overwritten.
std::string cut_line(std::string line, std::size_t width) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins && ++shown == width) return line.substr(0, i);
  }
  return line;
}

std::string waiting_text(const std::string& key, const Result<Page>& page, Millis waited) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(waited);
  std::string line =
      "holdfast: waiting " + (seconds >= 1s ? format_duration(seconds) + " " : "") + "for " + printable(key);
  if (!page) return line + ": " + printable(without_secrets(page.error().detail));
  if (page->leases.empty()) return line;
  const LeaseRow& row = page->leases.front();
  if (row.remaining > Millis::zero()) {
    line += ", held by " + printable(short_owner(row.owner));
    if (row.remaining != never) line += " (" + format_duration(row.remaining) + " left)";
  }
  if (row.waiting > 1) line += ", " + std::to_string(row.waiting) + " are waiting";
  return line;
}

}  // namespace

WaitResult wait_for_lease(RunRequest request, Signals& signals) {
  const auto attempt = std::make_shared<Attempt>(std::move(request));
  Worker worker([attempt] { work(*attempt); });

  int signal = 0;
  while (!attempt->done && signal == 0) {
    attempt->wakeup.wait(Instant::max(), signals.fd());
    signal = ending_signal(signals);
  }
  const bool typed = signals.was_typed();
  if (signal != 0) {
    attempt->stop.request_stop();
    const Instant enough = clamped_add(BootClock::now(), patience);
    while (!attempt->done && BootClock::now() < enough && ending_signal(signals) == 0) {
      attempt->wakeup.wait(enough, signals.fd());
    }
    // Explicitly, because a detached lease outlives its object.  But not if an owner was given: another
    // process may have held the lease as that owner before.
    if (attempt->done && *attempt->outcome && !attempt->request.options.owner)
      (void)(*attempt->outcome)->lease.try_release();
    return Interrupted{signal, typed};
  }
  worker.finish(patience);
  if (!*attempt->outcome) return std::move(*attempt->outcome).error();
  return **std::move(attempt->outcome);
}

struct WaitingLine::Shared {
  Shared(Admin a, std::string k) : admin(std::move(a)), key(std::move(k)) {}

  void show(std::string_view line) {
    const std::lock_guard lock(mutex);
    if (over) return;
    const std::string text = encode_for(STDERR_FILENO, std::string(erase_line) + std::string(line));
    shown = true;
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }
  void end() {
    const std::lock_guard lock(mutex);
    over = true;
    if (shown) (void)!::write(STDERR_FILENO, erase_line.data(), erase_line.size());
    wakeup.ring();
  }
  void work() {
    const Instant began = BootClock::now();
    for (Instant at = clamped_add(began, shown_after); wakeup.wait(at) == Wakeup::Why::moment;
         at = clamped_add(BootClock::now(), refreshed_every)) {
      const auto page = admin.try_list({.prefix = key, .exact = true, .limit = 1});
      const Millis waited = std::chrono::floor<Millis>(BootClock::now() - began);
      show(cut_line(waiting_text(key, page, waited), size_of_terminal(STDERR_FILENO).columns));
    }
  }

  Admin admin;
  const std::string key;
  Wakeup wakeup;
  std::mutex mutex;
  bool shown = false;
  bool over = false;
};

WaitingLine::WaitingLine(Admin admin, std::string key) {
  if (::isatty(STDERR_FILENO) != 1) return;
  shared_ = std::make_shared<Shared>(std::move(admin), std::move(key));
  worker_ = Worker([shared = shared_] { shared->work(); });
}

WaitingLine::~WaitingLine() {
  if (!shared_) return;
  shared_->end();
  worker_.finish(Millis::zero());
}

}  // namespace holdfast::cli
