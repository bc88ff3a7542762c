# SPDX-License-Identifier: Apache-2.0
# holdfast_embed(TARGET NAMESPACE FILE...): makes text files (SQL, Lua) constants of TARGET at build time.
#
#   src/stores/sqlite/CMakeLists.txt:
#     holdfast_embed(holdfast_sqlite holdfast::sqlite fence.sql)
#   src/stores/sqlite/descriptor.cpp:
#     #include "stores/sqlite/fence.sql.h"           // the file's path below src/, or below the root if it is elsewhere, with .h behind it
#     print(holdfast::sqlite::fence_sql);            // std::string_view, byte for byte the file; '.' and '-' become '_'
#
# A file of many statements is for holdfast_statements (cmake/statements.cmake).
# A changed file is embedded again by the next build. Only TARGET sees the generated headers.

# The script part: what the build runs for each file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${SOURCE}" text)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${SOURCE} contains )embedded\" and cannot be embedded")
  endif()
  file(
    WRITE "${HEADER}"
    "// Generated from ${NAME}; edit that.\n#pragma once\n\n#include <string_view>\n\n"
    "namespace ${NAMESPACE} {\n\ninline constexpr std::string_view ${CONSTANT} = R\"embedded(${text})embedded\";\n\n"
    "}  // namespace ${NAMESPACE}\n")
  return()
endif()

set(HOLDFAST_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(holdfast_embed target namespace)
  set(generated "${PROJECT_BINARY_DIR}/generated")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE source)
    set(base "${PROJECT_SOURCE_DIR}/src")
    cmake_path(IS_PREFIX base "${source}" below_src)
    if(NOT below_src)
      set(base "${PROJECT_SOURCE_DIR}")
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${base}" OUTPUT_VARIABLE name)
    cmake_path(GET source FILENAME filename)
    string(MAKE_C_IDENTIFIER "${filename}" constant)
    add_custom_command(
      OUTPUT "${generated}/${name}.h"
      COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${source}" "-DHEADER=${generated}/${name}.h" "-DNAME=${name}"
              "-DNAMESPACE=${namespace}" "-DCONSTANT=${constant}" -P "${HOLDFAST_EMBED_SCRIPT}"
      DEPENDS "${source}" "${HOLDFAST_EMBED_SCRIPT}"
      COMMENT "Embedding ${name}"
      VERBATIM)
    target_sources(${target} PRIVATE "${generated}/${name}.h")
    list(APPEND headers "${generated}/${name}.h")
  endforeach()
  # Ninja makes a command wait for what all of its targets depend on. TARGET alone depends on the libraries that it links, and every
  # source of TARGET would wait for those.
  add_custom_target(${target}_has_${constant} DEPENDS ${headers})
  target_include_directories(${target} PRIVATE "${generated}")
endfunction()
