# SPDX-License-Identifier: Apache-2.0
# holdfast_warnings: what every translation unit of ours is compiled with. Link it PRIVATE; it never reaches a user.
add_library(holdfast_warnings INTERFACE)
target_compile_options(
  holdfast_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            -Wshadow
            -Wswitch-enum
            # Asserts are for our own mistakes and stay on in every build, whatever the build type says.
            -UNDEBUG)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(holdfast_warnings INTERFACE -Werror)
endif()
