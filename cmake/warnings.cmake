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
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that libstdc++ has marked as deprecated.
  target_compile_options(holdfast_warnings INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # GCC sees uninitialised values in what its own sanitizers insert; the other builds keep the warning.
  target_compile_options(holdfast_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
# Errors for us: our presets say so. Another compiler may warn of something new, which must stop no user; so they are errors only with
# the compilers that CI uses: a user who has one of those sees no warning that CI has not seen. `./dev soak debian13` names its own.
# With and without tests the command lines are the same, so that ccache finds in one what the other has compiled.
option(HOLDFAST_WERROR "Take warnings of the compilers that CI uses for errors" OFF)
set(HOLDFAST_TRIED_COMPILERS "GNU 12[.]2|Clang 19[.].*" CACHE STRING "Those compilers, by name and version")
string(REGEX MATCH "^[0-9]+[.][0-9]+" compiler "${CMAKE_CXX_COMPILER_VERSION}")
if(HOLDFAST_WERROR AND "${CMAKE_CXX_COMPILER_ID} ${compiler}" MATCHES "^(${HOLDFAST_TRIED_COMPILERS})$")
  target_compile_options(holdfast_warnings INTERFACE -Werror)
endif()
