// SPDX-License-Identifier: Apache-2.0
#include "cli/top/screen.h"

#include <algorithm>

#include "base/time.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/see/describe.h"

namespace holdfast::cli {
namespace {

using Mode = Model::Mode;
using Lines = std::vector<ScreenLine>;

constexpr const char* hint = "Enter inspect  b break  s sort  / filter  p pause  ? help  q quit";

constexpr const char* key_help[][2] = {
    {"up down j k", "move; also PgUp, PgDn, Home, End"},
    {"s", "sort by age, remaining time, waiters, key, lag"},
    {"/", "filter by a part of key, holder or note; Esc: all"},
    {"Enter", "show all about a key: holder, queue, log"},
    {"b", "break a lease; asks for a reason, then for yes"},
    {"r  p", "refresh now; pause and continue"},
    {"q", "quit"},
    {"", ""},
    {"LAG",
     "time since the last renewal that was seen (>: at least). A renewal is due at a third of the ttl; "
     "yellow: late, red: two thirds of the ttl are gone"},
    {"[||||  ]", "what is left of the ttl"},
    {"free", "nobody holds it, and somebody waits"},
};

ScreenLine title_of(const Model& model, std::size_t columns) {
  std::string about = std::to_string(model.held()) + " held, " + std::to_string(model.waiting()) +
                      " waiting, by " + to_string(model.order());
  if (model.paused()) about += ", paused";
  if (!model.filter().empty()) about += ", only " + model.filter();
  const std::string time = format_wall(model.at()).substr(11);
  const std::string text = "holdfast top  " + time + "  " + about + "  " + model.store();
  if (columns_of(text) <= columns) return {{cut(text, columns), Style::strong}};
  return {{cut(time + "  " + about, columns), Style::strong}};
}

// Two columns; the second one wraps.
void add_pair(Lines& lines, const std::string& name, const std::string& text, std::size_t names,
              std::size_t columns) {
  const std::size_t left = std::min(names, columns / 2);
  bool first = true;
  for (const std::string& line : wrapped(text, columns - std::min(columns, left + 2))) {
    lines.push_back({{fitted(first ? name : "", left) + "  ", Style::strong}, {line}});
    first = false;
  }
}

void add_words(Lines& lines, const std::string& text, Style style, std::size_t columns) {
  for (std::string& line : wrapped(text, columns)) lines.push_back({{std::move(line), style}});
}

void add_pairs(Lines& lines, const Rows& rows, std::size_t columns) {
  constexpr std::size_t enough_for_two = 16;
  std::size_t names = 0;
  for (const Row& row : rows) names = std::max(names, columns_of(row[0]));
  for (const Row& row : rows) {
    if (columns < enough_for_two)
      add_words(lines, row[0] + " " + row[1], Style::plain, columns);
    else
      add_pair(lines, row[0], row[1], names, columns);
  }
}

Lines help_page(std::size_t columns) {
  Lines lines;
  add_words(lines, "holdfast top: arrows scroll, any other key goes back", Style::strong, columns);
  lines.emplace_back();
  Rows rows;
  for (const auto& [name, text] : key_help) rows.push_back({name, text});
  add_pairs(lines, rows, columns);
  return lines;
}

Lines inspection_page(const Model& model, std::size_t columns, Moment now) {
  Lines lines;
  if (model.inspection())
    add_pairs(lines, rows_of(*model.inspection(), now), columns);
  else
    add_words(lines, "reading " + model.inspected() + " ...", Style::faint, columns);
  return lines;
}

Lines break_page(const Model& model, std::size_t columns, Moment now) {
  const LeaseRow& lease = model.to_break();
  Lines lines;
  add_words(lines, "Break the lease on " + lease.key + "?", Style::strong, columns);
  Rows rows{{"held by", short_owner(lease.owner)},
            {"for", age_of(lease, now)},
            {"token", std::to_string(to_number(lease.token))}};
  if (!lease.note.empty()) rows.push_back({"note", lease.note});
  if (lease.waiting > 0) rows.push_back({"waiting", std::to_string(lease.waiting)});
  if (model.mode() == Mode::confirm) rows.push_back({"reason", model.reason()});
  add_pairs(lines, rows, columns);
  lines.emplace_back();
  std::string warning = after_break(lease) + ".";
  warning.front() = 'T';
  if (!lease.detached)
    warning += " Somebody else may be granted the key meanwhile. If there is time, stop the process instead.";
  add_words(lines, warning, Style::doubtful, columns);
  return lines;
}

std::string prompt_of(const Model& model) {
  switch (model.mode()) {
    case Mode::filter: return "/";
    case Mode::reason: return "reason: ";
    case Mode::confirm: return "type yes to break it: ";
    case Mode::list:
    case Mode::inspect:
    case Mode::help: return "";
  }
  return "";
}

// The last line: the message, or the input, or that the store is unreachable, or the keys.
void add_status(Screen& screen, const Model& model, std::size_t columns) {
  const bool typing = !prompt_of(model).empty();
  if (!model.message().empty()) {
    screen.lines.push_back({{cut(model.message(), columns), Style::strong}});
  } else if (typing) {
    const std::string prompt =
        cut(prompt_of(model), columns - std::min(columns, std::max(columns / 3, std::size_t{6})));
    const std::size_t room = columns - std::min(columns, columns_of(prompt) + 1);
    const std::string typed = tail(model.mode() == Mode::filter ? model.filter() : model.typed(), room);
    screen.lines.push_back({{prompt, Style::strong}, {typed}});
    screen.cursor = columns_of(prompt) + columns_of(typed);
  } else if (!model.unreachable().empty()) {
    screen.lines.push_back({{cut(model.unreachable() + "; trying again", columns), Style::bad}});
  } else {
    const char* const text = model.mode() == Mode::inspect ? "Esc back  b break  r refresh" : hint;
    screen.lines.push_back({{cut(model.mode() == Mode::help ? "" : text, columns), Style::faint}});
  }
}

Lines page_of(const Model& model, std::size_t columns, Moment now) {
  switch (model.mode()) {
    case Mode::help: return help_page(columns);
    case Mode::inspect: return inspection_page(model, columns, now);
    case Mode::reason:
    case Mode::confirm: return break_page(model, columns, now);
    case Mode::list:
    case Mode::filter: break;
  }
  return {};
}

// A page that does not fit can be scrolled.
void add_page(Screen& screen, const Model& model, Lines page, std::size_t rows) {
  screen.most_scroll = page.size() - std::min(page.size(), rows);
  const bool scrolls = model.mode() == Mode::inspect || model.mode() == Mode::help;
  const std::size_t first = std::min(scrolls ? model.scrolled() : 0, screen.most_scroll);
  for (std::size_t i = first; i < std::min(page.size(), first + rows); ++i) screen.lines.push_back(page[i]);
}

void add_list(Screen& screen, const Model& model, TerminalSize size, Moment now) {
  const std::size_t rows = size.rows - 1;
  Lines lines = table_of(model, room_for_rows(size), size.columns, now);
  lines.insert(lines.begin(), title_of(model, size.columns));
  if (model.rows().empty())
    lines.push_back({{cut(model.filter().empty() ? "nobody holds or waits for anything" : "nothing matches",
                          size.columns),
                      Style::faint}});
  // Without room for title, heading and rows, the rows matter most.
  if (rows < 3) lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(3 - rows));
  lines.resize(std::min(lines.size(), rows));
  screen.lines = std::move(lines);
}

}  // namespace

std::size_t room_for_rows(TerminalSize size) noexcept { return size.rows > 4 ? size.rows - 3 : 1; }

Screen screen_of(const Model& model, TerminalSize size, Moment now) {
  Screen screen;
  if (size.rows == 0 || size.columns < 2) return screen;
  const std::size_t above = size.rows - 1;
  if (model.mode() == Mode::list || model.mode() == Mode::filter)
    add_list(screen, model, size, now);
  else
    add_page(screen, model, page_of(model, size.columns, now), above);
  screen.lines.resize(above);
  add_status(screen, model, size.columns);
  return screen;
}

}  // namespace holdfast::cli
