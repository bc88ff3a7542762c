// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "cli/words/help.h"
#include "holdfast/version.h"

namespace holdfast::cli {
namespace {

// ---- for the terminal

constexpr std::size_t margin = 2;        // before LEFT, and between the columns
constexpr std::size_t widest_left = 22;  // what is wider reaches into the right column

std::string list_of_commands(const CommandEntry& above) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& name : above.commands)
    rows.emplace_back(name, purpose_of(above.name.empty() ? name : above.name + " " + name));
  return rows.empty() ? "" : two_columns(rows) + "\n";
}

std::string list_of_options(const std::vector<OptionEntry>& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionEntry& option : options) rows.emplace_back(written(option), option.does);
  return two_columns(rows);
}

// ---- for man(1)

// Escapes what roff would interpret.
std::string plain(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char letter : text) {
    if (begins_line && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else if (letter == '\'')
      out += "\\(aq";
    else
      out += letter;
    begins_line = letter == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

// "holdfast-jobs-ls".
std::string title_of(const std::string& command) {
  std::string title = command.empty() ? "holdfast" : "holdfast-" + command;
  std::replace(title.begin(), title.end(), ' ', '-');
  return title;
}

std::string heading(const char* words) { return std::string(".SH ") + words + "\n"; }

std::string synopsis(const std::string& command) {
  const std::string usage = usage_of(command);
  const std::string name = command.empty() ? "holdfast" : "holdfast " + command;
  return heading("SYNOPSIS") + bold(name) + plain(usage.substr(name.size())) + "\n";
}

// Either the sentences or the examples; the first paragraph of a section has no break before it.
std::string paragraphs(const std::string& command, bool examples) {
  std::string text;
  for (const Paragraph& paragraph : paragraphs_of(more_of(command))) {
    if (paragraph.is_example != examples) continue;
    if (!text.empty()) text += ".PP\n";
    text += examples ? ".nf\n" + plain(paragraph.text) + "\n.fi\n" : plain(paragraph.text) + "\n";
  }
  return text;
}

std::string description(const std::string& command) {
  return heading("DESCRIPTION") + plain(purpose_of(command)) + ".\n" +
         (paragraphs(command, false).empty() ? "" : ".PP\n" + paragraphs(command, false));
}

std::string options(const std::vector<OptionEntry>& entries) {
  std::string text = heading("OPTIONS");
  for (const OptionEntry& option : entries) {
    text += ".TP\n";
    for (const std::string& name : option.names)
      text += (name == option.names.front() ? "" : ", ") + bold(name);
    if (!option.value.empty()) text += " " + slanted(option.value);
    text += "\n" + plain(option.does) + "\n";
  }
  return text;
}

bool is_below(const CommandEntry& entry, const CommandEntry& above) {
  return entry.name != above.name && (above.name.empty() || entry.name.starts_with(above.name + " "));
}

std::string commands(const Table& table, const CommandEntry& above) {
  std::string text;
  for (const CommandEntry& entry : table) {
    if (is_below(entry, above))
      text += ".TP\n" + bold(title_of(entry.name)) + "(1)\n" + plain(purpose_of(entry.name)) + ".\n";
  }
  return text.empty() ? "" : heading("COMMANDS") + text;
}

}  // namespace

std::vector<Paragraph> paragraphs_of(std::string_view text) {
  std::vector<Paragraph> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    Paragraph paragraph{text.front() == ' ', std::string(text.substr(0, end))};
    if (!paragraph.is_example) std::replace(paragraph.text.begin(), paragraph.text.end(), '\n', ' ');
    paragraphs.push_back(std::move(paragraph));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string wrapped(std::string_view text, std::size_t at, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const bool first = out.empty();
    if (!first && at + 1 + word.size() > screen_width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t left = 0;
  for (const auto& row : rows) {
    if (row.first.size() <= widest_left) left = std::max(left, row.first.size());
  }
  const std::size_t column = margin + left + margin;
  std::string out;
  for (const auto& [name, does] : rows) {
    std::string line = std::string(margin, ' ') + name + std::string(margin, ' ');
    line.resize(std::max(line.size(), column), ' ');
    const std::size_t at = line.size();
    out += line + wrapped(does, at, column) + "\n";
  }
  return out;
}

std::string written(const OptionEntry& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ",") + name;
  return option.value.empty() ? names : names + " " + option.value;
}

std::string help_text(const Table& table, const CommandEntry& command) {
  std::string text =
      "usage: " + usage_of(command.name) + "\n\n" + std::string(purpose_of(command.name)) + "\n\n";
  text += list_of_commands(command) + list_of_options(usable_options(table, command));
  for (const Paragraph& paragraph : paragraphs_of(more_of(command.name)))
    text += "\n" + (paragraph.is_example ? paragraph.text : wrapped(paragraph.text, 0, 0)) + "\n";
  return text;
}

std::string man_page(const Table& table, const CommandEntry& command) {
  std::string capitals = title_of(command.name);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::string text = ".\\\" Printed by holdfast help --man " + command.name + "\n";
  text += ".TH " + capitals + " 1 \"\" \"holdfast " + version() + "\" \"Holdfast\"\n";
  text += heading("NAME") + plain(title_of(command.name)) + " \\- " + plain(purpose_of(command.name)) + "\n";
  text += synopsis(command.name) + description(command.name) + commands(table, command);
  text += options(usable_options(table, command)) + heading("EXAMPLES") + paragraphs(command.name, true);
  if (command.name.empty()) return text;
  const bool is_deep = command.name.find(' ') != std::string::npos;
  const std::string above = is_deep ? command.name.substr(0, command.name.find(' ')) : "";
  return text + heading("SEE ALSO") + bold(title_of(above)) + "(1)\n";
}

}  // namespace holdfast::cli
