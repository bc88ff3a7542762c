// SPDX-License-Identifier: Apache-2.0
#include "cli/run/waiting_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>

#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis blink = 250ms;
constexpr Millis refresh = 1s;
constexpr std::string_view erase_line = "\r\033[K";

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// A line that wraps cannot be overwritten.  Cuts between characters.
std::string cut(std::string line, std::size_t width) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins && ++shown == width) return line.substr(0, i);
  }
  return line;
}

std::string describe(const std::string& key, const Result<Page>& page, Millis waited) {
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

struct WaitingLine::Shared {
  Shared(Admin l, std::string k) : look(std::move(l)), key(std::move(k)) {}

  void show(std::string_view line) {
    const std::lock_guard lock(mutex);
    if (over) return;
    const std::string text = fit_for(STDERR_FILENO, std::string(erase_line) + std::string(line));
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
    for (Instant at = clamped_add(began, blink); wakeup.wait(at) == Wakeup::Why::moment;
         at = clamped_add(BootClock::now(), refresh)) {
      const auto page = look.try_list({.prefix = key, .exact = true, .limit = 1});
      const Millis waited = std::chrono::floor<Millis>(BootClock::now() - began);
      show(cut(describe(key, page, waited), terminal_width()));
    }
  }

  Admin look;
  const std::string key;
  Wakeup wakeup;
  std::mutex mutex;
  bool shown = false;
  bool over = false;
};

WaitingLine::WaitingLine(Admin look, std::string key) {
  if (::isatty(STDERR_FILENO) != 1) return;
  shared_ = std::make_shared<Shared>(std::move(look), std::move(key));
  worker_ = Worker([shared = shared_] { shared->work(); });
}

WaitingLine::~WaitingLine() {
  if (!shared_) return;
  shared_->end();
  worker_.finish(Millis::zero());
}

}  // namespace holdfast::cli
