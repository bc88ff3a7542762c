# SPDX-License-Identifier: Apache-2.0
# holdfast_statements(TARGET NAMESPACE FILE...): each named block of these files becomes a statement of TARGET at build time.
#
#   src/stores/sqlite/leases.sql:
#     -- name: acquire                       the block goes up to the next name; its comments belong to it
#     INSERT INTO {locks} ...
#     -- include: rule                       stands for the text of the block `-- part: rule`, which may include others
#   src/stores/sqlite/CMakeLists.txt:
#     holdfast_statements(holdfast_sqlite holdfast::sqlite schema.sql leases.sql jobs.sql)
#   src/stores/sqlite/connection.cpp:
#     #include "stores/sqlite/sql.h"         // enum class Sql, sql_count, all_sql, name(Sql), text(Sql)
#     prepare(text(Sql::acquire));
#
# What stands before the first name is about the file. The build fails if a name stands twice, if a mark is misspelt, if a part is unknown,
# and if nothing includes a part. Only TARGET sees the generated header.
#
# Files that end in .lua make lua.h with an enum Lua in the same way. Lines that are only a comment stay out of those texts, which a
# server keeps, and each has its sha1(Lua), by which Redis knows it. HEADER NAME.h gives the header another name, for a second set of
# statements that has other parts.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.25)
endif()

# Splits `text`, a variable, at its lines `-- name: NAME` and `-- part: NAME`; sets names, parts and block_NAME in the caller. Text is
# never a list nor an argument: ; and \ in it are only letters.
macro(holdfast_read_blocks source)
  set(rest "\n${text}")
  # What looks like a mark, and is none, would be a comment.
  string(REPLACE "\n" "\n\n" others "${rest}")
  string(REGEX REPLACE "\n-- (name|part|include): [a-z][a-z0-9_]*\n" "\n" others "${others}")
  if(others MATCHES "\n( *--? *([A-Za-z]+ *: *[A-Za-z0-9_]+ *|(name|part|include)[ :][^\n]*))\n")
    message(FATAL_ERROR "${source}: the line '${CMAKE_MATCH_1}' is no mark; write -- name: X, -- part: X or -- include: X")
  endif()
  while(rest MATCHES "\n-- (name|part): ([a-z][a-z0-9_]*)\n")
    set(mark "${CMAKE_MATCH_0}")
    set(kind "${CMAKE_MATCH_1}")
    set(block "${CMAKE_MATCH_2}")
    if(DEFINED block_${block})
      message(FATAL_ERROR "${source}: the name ${block} stands twice")
    endif()
    string(FIND "${rest}" "${mark}" at)
    string(LENGTH "${mark}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    # The mark of the next block needs the end of the line before it.
    set(rest "\n${rest}")
    set(body "${rest}")
    if(rest MATCHES "\n-- (name|part): [a-z][a-z0-9_]*\n")
      string(FIND "${rest}" "${CMAKE_MATCH_0}" end)
      string(SUBSTRING "${rest}" 0 ${end} body)
    endif()
    string(STRIP "${body}" body)
    set(block_${block} "${body}")
    list(APPEND ${kind}s ${block})
  endwhile()
endmacro()

# Puts parts in until there is nothing to put in.
macro(holdfast_put_parts_in block)
  set(text "\n${block_${block}}\n")
  set(depth 0)
  while(text MATCHES "\n-- include: ([a-z0-9_]+)\n")
    set(part "${CMAKE_MATCH_1}")
    math(EXPR depth "${depth} + 1")
    if(NOT part IN_LIST parts OR depth GREATER 50)
      message(FATAL_ERROR "${block} includes ${part}, which is not a part of these files or includes itself")
    endif()
    set(used_${part} TRUE)
    string(REPLACE "\n-- include: ${part}\n" "\n${block_${part}}\n" text "${text}")
  endwhile()
  string(STRIP "${text}" text)
endmacro()

# The script part: what the build runs for the files of one folder.
if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" SOURCES "${SOURCES}")
  set(names)
  set(parts)
  foreach(source IN LISTS SOURCES)
    file(READ "${source}" text)
    if(text MATCHES "\\)embedded\"")
      message(FATAL_ERROR "${source} contains )embedded\" and cannot be embedded")
    endif()
    holdfast_read_blocks("${source}")
  endforeach()
  set(enumerators)
  set(texts)
  set(type Sql)
  set(columns "name, text")
  set(extra)
  if(KIND STREQUAL "lua")
    set(type Lua)
    set(columns "name, text, sha1")
    set(extra "constexpr std::string_view sha1(Lua lua) noexcept { return all_lua[static_cast<std::size_t>(lua)].sha1; }\n")
  endif()
  foreach(name IN LISTS names)
    holdfast_put_parts_in(${name})
    set(hash)
    if(KIND STREQUAL "lua")
      string(REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
      string(STRIP "${text}" text)
      string(SHA1 hash "${text}")
      string(PREPEND hash ", \"")
      string(APPEND hash "\"")
    endif()
    string(APPEND enumerators "  ${name},\n")
    string(APPEND texts "    {\"${name}\", R\"embedded(${text})embedded\"${hash}},\n")
  endforeach()
  foreach(part IN LISTS parts)
    if(NOT used_${part})
      message(FATAL_ERROR "the part ${part} is included by no statement of ${NAME}")
    endif()
  endforeach()
  list(LENGTH names count)
  file(
    WRITE "${HEADER}"
    "// Generated from ${NAME}; edit those.\n#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <string_view>\n\n"
    "namespace ${NAMESPACE} {\n\nenum class ${type} : std::uint8_t {\n${enumerators}};\n"
    "inline constexpr std::size_t ${KIND}_count = ${count};\n\n"
    "struct Named${type} {\n  std::string_view ${columns};\n};\n"
    "inline constexpr Named${type} all_${KIND}[] = {\n${texts}};\n\n"
    "constexpr std::string_view name(${type} ${KIND}) noexcept { return all_${KIND}[static_cast<std::size_t>(${KIND})].name; }\n"
    "constexpr std::string_view text(${type} ${KIND}) noexcept { return all_${KIND}[static_cast<std::size_t>(${KIND})].text; }\n"
    "${extra}\n}  // namespace ${NAMESPACE}\n")
  return()
endif()

set(HOLDFAST_STATEMENTS_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(holdfast_statements target namespace)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" HEADER "")
  list(GET arg_UNPARSED_ARGUMENTS 0 first)
  cmake_path(GET first EXTENSION LAST_ONLY kind)
  string(SUBSTRING ${kind} 1 -1 kind)
  if(NOT arg_HEADER)
    set(arg_HEADER ${kind}.h)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE folder)
  set(header "${PROJECT_BINARY_DIR}/generated/${folder}/${arg_HEADER}")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  list(JOIN sources ", " files)
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(JOIN sources "|" joined)
  add_custom_command(
    OUTPUT "${header}"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCES=${joined}" "-DHEADER=${header}" "-DKIND=${kind}" "-DNAME=${folder}: ${files}"
            "-DNAMESPACE=${namespace}" -P "${HOLDFAST_STATEMENTS_SCRIPT}"
    DEPENDS ${sources} "${HOLDFAST_STATEMENTS_SCRIPT}"
    COMMENT "Embedding ${folder}: ${files}"
    VERBATIM)
  target_sources(${target} PRIVATE "${header}")
  string(MAKE_C_IDENTIFIER "${arg_HEADER}" made)
  add_custom_target(${target}_has_${made} DEPENDS "${header}")  # see holdfast_embed
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()
