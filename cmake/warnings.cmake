# SPDX-License-Identifier: Apache-2.0
# holdfast_warnings: what every translation unit of ours is compiled with. Link it PRIVATE; it never reaches a user.
add_library(holdfast_warnings INTERFACE)
target_compile_options(
  holdfast_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            # A dozen files are compiled as one.  Clang would complain of a local name for the sake of a neighbouring file, and
            # in tests short names are fine.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<BOOL:$<TARGET_PROPERTY:HOLDFAST_TEST>>>>:-Wshadow>
            -Wswitch-enum
            # Asserts are for our own mistakes and stay on in every build, whatever the build type says.
            -UNDEBUG)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlapping copy in every `"text" + std::string` it inlines (GCC bug 105651).
  target_compile_options(holdfast_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # GCC sees uninitialised values in what its own sanitizers insert; the other builds keep the warning.
  target_compile_options(holdfast_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
# Errors for us: our presets say so, and it holds where the tests are built too. Who builds only the command and the library, perhaps
# with a compiler that we have not seen, is told and not stopped.
include(CMakeDependentOption)
cmake_dependent_option(HOLDFAST_WERROR "Take warnings for errors, where the tests are built" OFF HOLDFAST_TESTS OFF)
if(HOLDFAST_WERROR)
  target_compile_options(holdfast_warnings INTERFACE -Werror)
endif()
