// SPDX-License-Identifier: Apache-2.0
// A file of the configuration, by anybody.
#include <string>

#include "base/text.h"
#include "cli/setup/config_text.h"
#include "fuzz/target.h"

namespace {

using namespace holdfast;
using fuzz::require;

constexpr std::string_view canary = "c4n4ry";
constexpr const char* path = "/etc/holdfast/config.toml";

// \x01 stands for the password of an address, and \x02 for one by itself, as a value.
std::string planted(std::string_view input) {
  std::string text;
  for (const char c : input) {
    if (c == '\x01')
      text += "\"postgres://me:c4n4ry@host/db\"";
    else if (c == '\x02')
      text += "password = \"c4n4ry\"";
    else
      text += c;
  }
  return text;
}

void require_sound(const cli::ConfigFile& file) {
  for (std::size_t i = 1; i < file.sections.size(); ++i)
    require(file.sections[i - 1].prefix.size() >= file.sections[i].prefix.size(), "the longest prefix first");
  for (const cli::StoreEntry& store : file.stores) {
    require(cli::is_store_name(store.name) && !cli::is_store_name(store.url), "a name and a URL", store.name);
    require(store.from.starts_with(path), "its place is known", store.from);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  if (input.find("4n4") != std::string_view::npos) return -1;  // not as a password
  const auto file = cli::parse_config(planted(input), path);
  if (file) {
    require_sound(*file);
    return 0;
  }
  const std::string& detail = file.error().detail;
  require(file.error().code == Errc::invalid, "what is wrong in a file is a usage error", detail);
  require(detail.starts_with(path), "an error names the file", detail);
  require(is_utf8(detail) && printable(detail) == detail, "an error is one sentence, fit for a terminal",
          detail);
  // Quotes that are not where they should be make a name of it, which is shown.
  if (input.find_first_of("\"'") == std::string_view::npos)
    require(detail.find(canary) == std::string::npos, "no password in an error", detail);
  return 0;
}
