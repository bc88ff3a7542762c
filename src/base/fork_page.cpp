// SPDX-License-Identifier: Apache-2.0
#include "base/fork_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holdfast {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

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
