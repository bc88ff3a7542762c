// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <pwd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>

#include "base/text.h"

namespace holdfast {
namespace {

std::string host_name() {
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') host[0] = '?';
  return printable(host);
}

std::string user_name() {
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  const std::string name = found != nullptr ? found->pw_name : "uid " + std::to_string(::geteuid());
  const char* const who = ::geteuid() == 0 ? ::secure_getenv("SUDO_USER") : nullptr;
  return who != nullptr && name != who ? printable(who) + " as " + name : name;
}

std::string home() {
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && home[0] == '/') return home;
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  return found != nullptr ? found->pw_dir : "/";
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

std::string owner_name(std::string_view guid) {
  return "host:" + host_name() + " pid:" + std::to_string(getpid()) + " guid:" + std::string(guid);
}

std::optional<Whereabouts> whereabouts(std::string_view owner) {
  constexpr auto none = std::string_view::npos;
  const std::size_t pid = owner.find(" pid:");
  const std::size_t guid = owner.find(" guid:");
  if (!owner.starts_with("host:") || pid == none || guid == none || pid > guid) return std::nullopt;
  const std::string_view host = owner.substr(5, pid - 5), number = owner.substr(pid + 5, guid - pid - 5);
  if (host.find(' ') != none || number.find_first_not_of("0123456789") != none) return std::nullopt;
  return Whereabouts{std::string(host), std::string(number)};
}

std::string user_at_host() { return user_name() + "@" + host_name() + " pid " + std::to_string(getpid()); }

std::string user_folder(const char* variable, const char* in_home) {
  const char* const given = ::secure_getenv(variable);
  if (given != nullptr && given[0] == '/') return given;
  return home() + "/" + in_home;
}

ForkPage::ForkPage() {
  void* const page = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  if (madvise(page, page_size(), MADV_WIPEONFORK) != 0) {
    const int reason = errno;
    munmap(page, page_size());
    throw std::system_error(reason, std::generic_category(), "madvise(MADV_WIPEONFORK)");
  }
  page_ = static_cast<volatile unsigned char*>(page);
  *page_ = 1;
}

ForkPage::~ForkPage() { munmap(const_cast<unsigned char*>(page_), page_size()); }

}  // namespace holdfast
