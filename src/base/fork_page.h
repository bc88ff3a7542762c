// SPDX-License-Identifier: Apache-2.0
// fork_page.h - know whether we are a child of the process that made this object.
#pragma once

namespace holdfast {

// One page that the kernel wipes in a child (MADV_WIPEONFORK): needs no handler, no global and no system
// call to look at, and covers fork(), vfork-less clone() and whatever else copies the address space.
class ForkPage {
 public:
  ForkPage();  // throws std::system_error
  ~ForkPage();
  ForkPage(const ForkPage&) = delete;
  ForkPage& operator=(const ForkPage&) = delete;

  bool in_child() const noexcept { return *page_ == 0; }

 private:
  volatile unsigned char* page_;
};

}  // namespace holdfast
