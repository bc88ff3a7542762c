# SPDX-License-Identifier: Apache-2.0
# holdfast_hardening: what makes a mistake of ours harder to exploit. Link it PRIVATE; it never reaches a user. Position independent
# code, the other half, is a property that holdfast_ours() sets. tests/install looks for all of it in what is installed.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

add_library(holdfast_hardening INTERFACE)
target_compile_definitions(holdfast_hardening INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(holdfast_hardening INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)

# Not every compiler and processor has all of these.
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
  string(MAKE_C_IDENTIFIER "HOLDFAST_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(holdfast_hardening INTERFACE ${flag})
  endif()
endforeach()

# Needs an optimiser, and hides from sanitizers what they would find. Some compilers define it themselves.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(holdfast_hardening
                         INTERFACE "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()
