// SPDX-License-Identifier: Apache-2.0
#include "cli/words/man.h"

#include <algorithm>
#include <cctype>

#include "cli/words/help.h"
#include "cli/words/layout.h"
#include "holdfast/version.h"

namespace holdfast::cli {
namespace {

// What roff would take for its own.
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

// Sentences, or examples; the first paragraph of a section has no break before it.
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

std::string man_page(const Table& table, const CommandEntry& command) {
  std::string capitals = title_of(command.name);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::string text = ".\\\" Printed by holdfast help --man " + command.name + "\n";
  text += ".TH " + capitals + " 1 \"\" \"holdfast " + version() + "\" \"Holdfast\"\n";
  text += heading("NAME") + plain(title_of(command.name)) + " \\- " + plain(purpose_of(command.name)) + "\n";
  text += synopsis(command.name) + description(command.name) + commands(table, command);
  text += options(options_told(table, command)) + heading("EXAMPLES") + paragraphs(command.name, true);
  if (command.name.empty()) return text;
  const bool is_deep = command.name.find(' ') != std::string::npos;
  const std::string above = is_deep ? command.name.substr(0, command.name.find(' ')) : "";
  return text + heading("SEE ALSO") + bold(title_of(above)) + "(1)\n";
}

}  // namespace holdfast::cli
