// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/journal.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "holdfast/result.h"

namespace holdfast::sqlite {
namespace {

// sqlite.org/fileformat.html, "The Rollback Journal".
constexpr std::array<unsigned char, 8> magic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
constexpr std::size_t header_size = 28, most_sector = 65536, most_page = 65536;
constexpr std::size_t id_in_page = 68;

class Bytes {
 public:
  explicit Bytes(const std::string& path) {
    // No further than one page and what stands around it; one byte more shows that there is more.
    std::ifstream file(path, std::ios::binary);
    bytes_.resize(most_sector + most_page + 9);
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    bytes_.resize(static_cast<std::size_t>(file.gcount()));
  }
  std::size_t size() const { return bytes_.size(); }
  bool starts_with_magic() const {
    for (std::size_t i = 0; i < magic.size(); ++i) {
      if (at(i) != magic[i]) return false;
    }
    return true;
  }
  std::uint32_t number(std::size_t from) const {
    return at(from) << 24 | at(from + 1) << 16 | at(from + 2) << 8 | at(from + 3);
  }

 private:
  std::uint32_t at(std::size_t i) const {
    return i < bytes_.size() ? static_cast<unsigned char>(bytes_[i]) : 0u;
  }
  std::string bytes_;
};

// One record: its page number, the page, a checksum.
bool has_our_page_1_only(const Bytes& journal, std::uint32_t our_id) {
  const std::size_t sector = journal.number(20), page = journal.number(24);
  const bool sound = journal.number(16) != 0 && sector >= header_size && sector <= most_sector &&
                     page >= 512 && page <= most_page;
  return sound && journal.size() <= sector + page + 8 && journal.number(sector) == 1 &&
         journal.number(sector + 4 + id_in_page) == our_id;
}

}  // namespace

void check_journal(const std::string& path, std::uint32_t our_id) {
  const std::string name = path + "-journal";
  std::error_code unknown;
  if (!std::filesystem::exists(name, unknown)) return;
  const Bytes journal(name);
  // SQLite plays back nothing that does not start so.
  if (!journal.starts_with_magic() || has_our_page_1_only(journal, our_id)) return;
  throw_failure(
      {Errc::refused,
       "the journal " + name +
           " is not of this database and would overwrite it; nothing was changed; remove the journal"});
}

}  // namespace holdfast::sqlite
