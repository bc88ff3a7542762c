// SPDX-License-Identifier: Apache-2.0
// process.h - this process: the names that people see, its user's folders, and whether it is a forked child.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// "host:HOST pid:PID guid:GUID", as Ruby's locker names an owner; `guid` may be its first half.
std::string owner_name(std::string_view guid);

// The host and the process in such a name; none if `owner` has another form.
struct Whereabouts {
  std::string host;
  std::string pid;
};
std::optional<Whereabouts> whereabouts(std::string_view owner);

// "olga@HOST pid PID", the author of a change that a person makes by hand; "olga as root@…" behind sudo.
std::string user_at_host();

// The folder in the environment variable, for example XDG_STATE_HOME; else the folder `in_home` of the user's
// home.  As the XDG specification says, a relative path in the variable is ignored.
std::string user_folder(const char* variable, const char* in_home);

// Detects that the process was forked after this object was made.  It is a page that the kernel wipes in a
// child (MADV_WIPEONFORK): it needs no handler, no global variable and no system call to read, and covers
// fork(), clone() and everything else that copies the address space.
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
