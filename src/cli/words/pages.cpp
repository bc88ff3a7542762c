// SPDX-License-Identifier: Apache-2.0
// pages.cpp - the layout of pages.
#include "cli/words/pages.h"

#include <algorithm>
#include <cctype>

#include "holdfast/version.h"

namespace holdfast::cli {
namespace {

// ---- for the terminal

constexpr std::size_t margin = 2;        // before LEFT, and between the columns
constexpr std::size_t widest_left = 22;  // what is wider reaches into the right column

// The names of an option and of its value: "-w,--wait DURATION".
std::string written(const OptionSpec& option) {
  return std::string(option.names) + (option.value.empty() ? "" : " " + std::string(option.value));
}

std::string list_of_commands(const CommandSpec& group) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const CommandSpec* const command : commands_below(group))
    rows.emplace_back(last_word(*command), command->purpose);
  return rows.empty() ? "" : two_columns(rows) + "\n";
}

std::string list_of_options(const CommandSpec& command) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionSpec* const option : usable_options(command))
    rows.emplace_back(written(*option), does_of(*option));
  return two_columns(rows);
}

std::string more_of(const CommandSpec& command) {
  const std::string more(command.more);
  return command.filled_in == nullptr ? more : replaced(more, "{}", command.filled_in());
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
std::string title_of(const CommandSpec& command) {
  const std::string title = "holdfast" + (command.name.empty() ? "" : "-" + std::string(command.name));
  return replaced(title, " ", "-");
}

std::string heading(const char* words) { return std::string(".SH ") + words + "\n"; }

std::string synopsis(const CommandSpec& command) {
  const std::string name = "holdfast" + (command.name.empty() ? "" : " " + std::string(command.name));
  return heading("SYNOPSIS") + bold(name) + plain(usage_of(command).substr(name.size())) + "\n";
}

// Either the sentences or the examples; the first paragraph of a section has no break before it.
std::string paragraphs(const CommandSpec& command, bool examples) {
  std::string text;
  for (const Paragraph& paragraph : paragraphs_of(more_of(command))) {
    if (paragraph.is_example != examples) continue;
    if (!text.empty()) text += ".PP\n";
    text += examples ? ".nf\n" + plain(paragraph.text) + "\n.fi\n" : plain(paragraph.text) + "\n";
  }
  return text;
}

std::string description(const CommandSpec& command) {
  const std::string sentences = paragraphs(command, false);
  return heading("DESCRIPTION") + plain(command.purpose) + ".\n" +
         (sentences.empty() ? "" : ".PP\n" + sentences);
}

std::string options(const CommandSpec& command) {
  std::string text = heading("OPTIONS");
  for (const OptionSpec* const option : usable_options(command)) {
    text += ".TP\n";
    const Words names = names_of(*option);
    for (const std::string& name : names) text += (name == names.front() ? "" : ", ") + bold(name);
    if (!option->value.empty()) text += " " + slanted(option->value);
    text += "\n" + plain(does_of(*option)) + "\n";
  }
  return text;
}

// All commands below it, also the commands of those.
std::string commands_of_page(const CommandSpec& group) {
  std::string text;
  for (const CommandSpec* const command : commands_below(group))
    text += ".TP\n" + bold(title_of(*command)) + "(1)\n" + plain(command->purpose) + ".\n" +
            commands_of_page(*command);
  return text;
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

std::string help_text(const CommandSpec& command) {
  std::string text = "usage: " + usage_of(command) + "\n\n" + std::string(command.purpose) + "\n\n";
  text += list_of_commands(command) + list_of_options(command);
  for (const Paragraph& paragraph : paragraphs_of(more_of(command)))
    text += "\n" + (paragraph.is_example ? paragraph.text : wrapped(paragraph.text, 0, 0)) + "\n";
  return text;
}

std::string man_page(const CommandSpec& command) {
  const std::string name(command.name), title = title_of(command), below = commands_of_page(command);
  std::string capitals = title;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::string text = ".\\\" Printed by holdfast help --man " + name + "\n";
  text += ".TH " + capitals + " 1 \"\" \"holdfast " + version() + "\" \"Holdfast\"\n";
  text += heading("NAME") + plain(title) + " \\- " + plain(command.purpose) + "\n";
  text += synopsis(command) + description(command) + (below.empty() ? "" : heading("COMMANDS") + below);
  text += options(command) + heading("EXAMPLES") + paragraphs(command, true);
  if (name.empty()) return text;
  return text + heading("SEE ALSO") + bold(title_of(above(command))) + "(1)\n";
}

}  // namespace holdfast::cli
