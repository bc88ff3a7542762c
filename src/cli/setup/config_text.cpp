// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/config_text.h"

// Version 3.3 asserts, and without assertions assumes, that a name follows a [, whatever the file says.
namespace {
struct Misread {};
[[noreturn]] void misread() { throw Misread{}; }
}  // namespace
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>((expression) || (misread(), true))

// All of the library is compiled here, and only here.
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/url.h"
#include "cli/commands.h"
#include "cli/setup/store_url.h"
#include "cli/words/values.h"
#include "holdfast/check.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

// What the library quotes may be a password.  A letter or two cannot hurt.
std::string without_quotations(std::string_view sentence) {
  std::string out;
  while (!sentence.empty()) {
    const std::size_t open = sentence.find('\'');
    const std::size_t close = open == std::string_view::npos ? open : sentence.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    const std::string_view quoted = sentence.substr(open + 1, close - open - 1);
    out.append(sentence.substr(0, open + 1)).append(quoted.size() <= 2 ? quoted : "…").append("'");
    sentence.remove_prefix(close + 1);
  }
  return out.append(sentence.substr(0, sentence.find('\'')));
}

// An example of a store that can have a password.
std::string server_url() {
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place == StorePlace::server) return std::string(store.url);
  }
  return "URL";
}
std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

bool is_plain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// Behind the string that begins at `from`, or at the end of the line that it must not leave.
std::size_t end_of_string(std::string_view text, std::size_t from) {
  const char quote = text[from];
  const bool has_lines = text.substr(from, 3) == std::string(3, quote);
  for (std::size_t i = from + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\n' && !has_lines) return i;
    if (text[i] == '\\' && quote == '"' && !text.substr(i + 1).starts_with('\n')) {
      ++i;
    } else if (text[i] == quote) {
      if (!has_lines) return i + 1;
      const std::size_t behind = std::min(text.find_first_not_of(quote, i), text.size());
      if (behind - i >= 3) return std::min(behind, i + 5);  // two may be the last letters of the text
      i = behind - 1;
    }
  }
  return text.size();
}

// The line of the first letter that is not ASCII and stands neither in quotes nor in a comment; or zero.
std::size_t line_of_bare_letter(std::string_view text) {
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // as some editors begin every file
  while (at < text.size()) {
    const char c = text[at];
    if ((c & 0x80) != 0) {
      const std::string_view before = text.substr(0, at);
      return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    }
    at = c == '#'                ? std::min(text.find('\n', at), text.size())
         : c == '"' || c == '\'' ? end_of_string(text, at)
                                 : at + 1;
  }
  return 0;
}

// Checks the text as if it were given on the command line.  Throws Failure with one sentence that begins with
// the setting's name.
void check_setting(const Setting& setting, const std::string& text) {
  Given given(commands::run);
  given.words = given.cmd = {"any"};
  given.set(setting.option(), text);
  // Checked against the longest ttl: the ttl that it will be used with is not known here.
  if (setting.name == "kill-after") given.set("--ttl", "36525d");
  try {
    (void)commands::run.read(given);
  } catch (const Failure& failure) {
    const std::string& why = failure.error().detail;
    const bool named = why.starts_with(setting.option());
    refuse(named ? why.substr(2) : std::string(setting.name) + ": " + why);
  }
}

// Whatever is wrong is thrown as a Failure.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) { out_.path = path; }

  ConfigFile read(const toml::table& all) {
    for (auto&& [key, node] : all) {
      if (key == "store") {
        out_.store = {"store", text_of(key, node, "\"prod\""), place(key)};
        check_store(key, out_.store->text, true);
      } else if (key == "require-store") {
        out_.require_store = {"require-store", truth_of(key, node), place(key)};
      } else if (key == "stores") {
        for (auto&& [name, store] : table_of(key, node)) out_.stores.push_back(store_of(name, store));
      } else if (key == "defaults") {
        out_.sections.push_back({"", entries_of(table_of(key, node))});
      } else if (key == "keys") {
        for (auto&& [prefix, section] : table_of(key, node)) add_section(prefix, section);
      } else {
        unknown(key, "allowed here are ", {"store", "require-store", "stores", "defaults", "keys"});
      }
    }
    std::sort(out_.sections.begin(), out_.sections.end(),
              [](const Section& a, const Section& b) { return a.prefix.size() > b.prefix.size(); });
    out_.there = true;
    return std::move(out_);
  }

 private:
  std::string place(const toml::key& key) const {
    return path_ + ":" + std::to_string(key.source().begin.line);
  }
  [[noreturn]] void wrong(const toml::key& key, const std::string& sentence) const {
    refuse(printable(place(key)) + ": " + sentence);
  }
  [[noreturn]] void unknown(const toml::key& key, const char* here,
                            const std::vector<std::string>& known) const {
    std::string all;
    for (const std::string& name : known)
      all += (all.empty() ? "" : &name == &known.back() ? " and " : ", ") + name;
    wrong(key,
          "unknown setting " + shown(std::string(key.str())) + suggestion(key.str(), known) + here + all);
  }

  const toml::table& table_of(const toml::key& key, const toml::node& node) const {
    if (node.as_table() != nullptr) return *node.as_table();
    wrong(key, shown(std::string(key.str())) +
                   " must be a table; write [stores], [defaults] or [keys.\"PREFIX\"], and "
                   "its settings on the lines below");
  }
  std::string truth_of(const toml::key& key, const toml::node& node) const {
    if (node.as_boolean() == nullptr)
      wrong(key, printable(key.str()) + " must be true or false; write it without quotes");
    return node.as_boolean()->get() ? "true" : "false";
  }
  std::string text_of(const toml::key& key, const toml::node& node, const std::string& example) const {
    if (node.as_string() == nullptr)
      wrong(key, printable(key.str()) + " must be a string; write it in quotes, as in " +
                     printable(key.str()) + " = " + example);
    const std::string& text = node.as_string()->get();
    if (text.find('\0') != std::string::npos)
      wrong(key, printable(key.str()) + " contains a NUL byte; remove it");
    return text;
  }

  // What stands there instead may be a password in the wrong place: it is not shown.
  [[noreturn]] void no_url(const toml::key& key) const {
    wrong(key, printable(key.str()) + " is not the URL of a store; write for example " +
                   std::string(scheme_of(default_store().url)) + "/PATH");
  }

  // Nor is this, for the same reason.
  static std::string depends_on_folder(const toml::key& key) {
    return "the path in " + printable(key.str()) +
           " is relative and would be another file in every folder; give an absolute path";
  }

  // A relative path would be another store in every folder.
  void check_store(const toml::key& key, const std::string& word, bool may_be_name) const {
    if (word.starts_with("@")) {
      if (!word.starts_with("@/")) wrong(key, depends_on_folder(key) + ", as @/etc/store.url");
    } else if (is_store_name(word)) {
      if (!may_be_name || !is_plain(word)) no_url(key);
    } else if (const auto url = parse_url(word); !url) {
      no_url(key);
    } else if (is_relative(word)) {
      wrong(key, shown(word) +
                     " is relative and would be another file in every folder; give an absolute path, as " +
                     url->scheme + ":/PATH");
    }
  }

  void read_store_part(const toml::key& key, const toml::node& node, StoreEntry& store) const {
    if (key == "url") {
      store.url = text_of(key, node, in_quotes(server_url()));
      check_store(key, store.url, false);
    } else if (key == "password") {
      store.password = text_of(key, node, "\"…\"");
    } else if (key == "password-file") {
      store.password_file = text_of(key, node, "\"/etc/holdfast/cache.secret\"");
      if (!store.password_file.starts_with("/")) wrong(key, depends_on_folder(key));
    } else {
      unknown(key, "a store has ", {"url", "password-file", "password"});
    }
  }

  StoreEntry store_of(const toml::key& name, const toml::node& node) const {
    if (!is_plain(name.str()))
      wrong(name, shown(std::string(name.str())) +
                      " is not a valid name of a store; use letters, digits, -, _ and .");
    StoreEntry store{std::string(name.str()), {}, {}, {}, place(name)};
    const std::string example = "{ url = " + in_quotes(server_url()) + ", password-file = \"/FILE\" }";
    if (const toml::table* const parts = node.as_table(); parts != nullptr) {
      for (auto&& [key, part] : *parts) read_store_part(key, part, store);
      if (store.url.empty())
        wrong(name, "the store " + store.name + " has no url; write " + store.name + " = " + example);
    } else {
      store.url = text_of(name, node, in_quotes(server_url()));
      check_store(name, store.url, false);
    }
    check_password(name, store);
    return store;
  }
  void check_password(const toml::key& name, const StoreEntry& store) const {
    const bool beside = !store.password.empty() || !store.password_file.empty();
    const bool twice = !store.password.empty() && !store.password_file.empty();
    if (twice || (beside && redacted(store.url) != store.url))
      wrong(name, "the store " + store.name + " has more than one password; keep one, best in password-file");
    if (beside && store.url.find("://") == std::string::npos)
      wrong(name, "the store " + store.name + " has a password, but " + shown(store.url) +
                      " can have none; remove the password");
  }

  void add_section(const toml::key& prefix, const toml::node& node) {
    const std::string keys(prefix.str());
    if (keys.empty()) wrong(prefix, "the prefix \"\" matches every key; write [defaults]");
    if (Status s = check_key(keys); !s) wrong(prefix, s.error().detail);
    out_.sections.push_back({keys, entries_of(table_of(prefix, node))});
  }

  std::vector<Entry> entries_of(const toml::table& table) const {
    std::vector<Entry> entries;
    for (auto&& [key, node] : table) entries.push_back(entry_of(key, node));
    const auto has = [&](std::string_view name) { return table.contains(name); };
    if (has("wait") && has("nonblock"))
      wrong(table.find("nonblock")->first, "wait and nonblock exclude each other; give one of them");
    return entries;
  }

  Entry entry_of(const toml::key& key, const toml::node& node) const {
    const Setting* const setting = setting_of(key);
    Entry entry{std::string(key.str()), {}, place(key)};
    if (setting->is_flag()) {
      entry.text = truth_of(key, node);
      return entry;
    }
    const bool number = entry.name == "conflict-exit-code" && node.as_integer() != nullptr;
    entry.text = number ? std::to_string(node.as_integer()->get())
                        : text_of(key, node, entry.name == "on-lost" ? "\"term\"" : "\"30s\"");
    try {
      check_setting(*setting, entry.text);
    } catch (const Failure& failure) {
      wrong(key, failure.error().detail);
    }
    return entry;
  }
  const Setting* setting_of(const toml::key& key) const {
    if (key == "owner")
      wrong(key,
            "owner cannot be set in a configuration: all who use one name count as one holder; give --owner");
    std::vector<std::string> known;
    for (const Setting& setting : settings) {
      if (setting.name == key.str()) return &setting;
      known.emplace_back(setting.name);
    }
    unknown(key, "allowed here are ", known);
  }

  const std::string& path_;
  ConfigFile out_;
};

}  // namespace

bool StoreEntry::has_secret() const { return !password.empty() || redacted(url) != url; }

const Entry* Section::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

bool ConfigFile::has_secret() const {
  return (store && redacted(store->text) != store->text) ||
         std::any_of(stores.begin(), stores.end(),
                     [](const StoreEntry& entry) { return entry.has_secret(); });
}

Result<ConfigFile> parse_config(std::string_view text, const std::string& path) {
  // Version 3.3 reaches what it holds for unreachable at some of them.
  if (const std::size_t line = line_of_bare_letter(text); line != 0)
    return Error{Errc::invalid, printable(path + ":" + std::to_string(line)) +
                                    " is not valid TOML: a letter that is not ASCII is outside quotes; write "
                                    "it in quotes, as in [keys.\"PREFIX\"]"};
  try {
    // Where quotes stand in odd places that cannot be told before: first the same text without such letters.
    std::string ascii(text);
    if (text.starts_with("\xEF\xBB\xBF")) ascii.replace(0, 3, 3, ' ');
    std::replace_if(
        ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) != 0; }, 'x');
    if (ascii != text) (void)toml::parse(ascii);
    return Reader(path).read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    return Error{Errc::invalid,
                 printable(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column)) +
                     " is not valid TOML: " + printable(without_quotations(error.description()))};
  } catch (const Misread&) {
    return Error{Errc::invalid, printable(path) + " is not valid TOML: a [ is not followed by a name"};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

std::string toml_version() {
  return std::to_string(TOML_LIB_MAJOR) + "." + std::to_string(TOML_LIB_MINOR) + "." +
         std::to_string(TOML_LIB_PATCH);
}

}  // namespace holdfast::cli
