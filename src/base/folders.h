// SPDX-License-Identifier: Apache-2.0
// folders.h - where a user's files are.
#pragma once
#include <string>

namespace holdfast {

// What the variable says, as XDG_STATE_HOME; else the folder of that name in the user's home.  By the
// specification a relative path in the variable does not count.
std::string user_folder(const char* variable, const char* in_home);

}  // namespace holdfast
