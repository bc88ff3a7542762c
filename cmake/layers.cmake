# SPDX-License-Identifier: Apache-2.0
# The two functions that the CMakeLists.txt of our folders are made of.
#
#   holdfast_layer(NAME
#                  [SOURCES file.cpp...]           # without any: a layer of headers only
#                  [LINKS target...])              # PRIVATE: holdfast::core SQLite::SQLite3
#     makes the static library holdfast_NAME, alias holdfast::NAME. Its users see include/; it sees src/ as well, so code
#     writes #include "core/deadline.h".
#
#   holdfast_test(NAME
#                 SOURCES file.cpp...
#                 [LINKS target...]                # holdfast::NAME of the layers under test; GoogleTest comes by itself
#                 [LABELS label...]                # fast sanitize slow cli
#                 [USES_CLI]                       # builds the command first; HOLDFAST_BINARY is its path, a string literal
#                 [NEEDS servers]                  # ctest starts the servers that tests share; HOLDFAST_TEST_SERVERS says where
#                 [COMPUTES]                       # they do not wait, or read clocks: two of such at a time
#                 [ALONE]                          # nothing beside: what they see happen must happen by the clock
#                 [TIMEOUT seconds])               # for each case; 120 unless given
#     makes the program test_NAME and one ctest test NAME.Suite.case for each of its cases. It sees include/, src/ and the
#     root of the repository: #include "tests/support/await.h". Does nothing when HOLDFAST_TESTS is off.
#
# A program of ours (src/cli, sim, bench) says holdfast_ours(TARGET) after add_executable. Files are written out one by one,
# never globbed: the tidy test reads the names here.

include(GoogleTest)

# The file that says where the servers of a run of tests are; tests/support/servers makes it.
set(HOLDFAST_TEST_SERVERS "${PROJECT_BINARY_DIR}/Testing/servers")

# Most tests wait most of the time, so the presets run four at once on two cores. What computes all the time, or reads clocks,
# is told to ctest as two of those.
set(HOLDFAST_TEST_COMPUTES 2)
set(HOLDFAST_TEST_ALL 4)

# The language, the warnings, the hardening, the visibility and the private include folder of everything we compile.
function(holdfast_ours target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               POSITION_INDEPENDENT_CODE ON
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               # Most of a small file's time would go into reading the same headers again: a dozen files are compiled as one.  So
               # names in unnamed namespaces differ within a folder, and enumerators there stand in a class.
               UNITY_BUILD ON
               UNITY_BUILD_BATCH_SIZE 12)
  # An assert names the file in the tree, and so do debuggers and sanitizers (run gdb in the root); where the tree lay is nobody's
  # business. ccache calls files by their way from the build folder.
  cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY "${CMAKE_BINARY_DIR}" OUTPUT_VARIABLE up)
  target_compile_options(${target} PRIVATE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${up}/=")
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:holdfast_warnings>" "$<BUILD_INTERFACE:holdfast_hardening>"
                                           Threads::Threads)
endfunction()

function(holdfast_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  holdfast_refuse_unparsed(holdfast_layer ${name} "${arg_UNPARSED_ARGUMENTS}")
  set(target holdfast_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    holdfast_ours(${target})
    target_link_libraries(${target} PRIVATE ${arg_LINKS})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
    target_link_libraries(${target} INTERFACE ${arg_LINKS})
  endif()
  add_library(holdfast::${name} ALIAS ${target})
endfunction()

function(holdfast_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "USES_CLI;COMPUTES;ALONE" "TIMEOUT" "SOURCES;LINKS;LABELS;NEEDS")
  holdfast_refuse_unparsed(holdfast_test ${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT HOLDFAST_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(processors 1)
  if(arg_ALONE)
    set(processors ${HOLDFAST_TEST_ALL})
  elseif(arg_COMPUTES)
    set(processors ${HOLDFAST_TEST_COMPUTES})
  endif()

  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES HOLDFAST_TEST ON)
  holdfast_ours(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  # What is tested is optimised as users have it. Tests are not: half the time of their compiling would be that.
  target_compile_options(${target} PRIVATE -Og)
  if(arg_USES_CLI)
    add_dependencies(${target} holdfast_cli)
    target_compile_definitions(${target} PRIVATE "HOLDFAST_BINARY=\"$<TARGET_FILE:holdfast_cli>\"")
  endif()

  # What the sanitizers' presets build: with them compiling is slow, and the rest would not be run.
  if(NOT TARGET sanitized_tests)
    add_custom_target(sanitized_tests)
  endif()
  if("sanitize" IN_LIST arg_LABELS)
    add_dependencies(sanitized_tests ${target})
  endif()
  # A test whose store has gone since it was discovered runs nothing, and GoogleTest is content with that.
  set(properties "LABELS \"${arg_LABELS}\" FAIL_REGULAR_EXPRESSION \"Running 0 tests\"")
  if(arg_NEEDS)
    add_dependencies(${target} ${arg_NEEDS})
    string(APPEND properties " FIXTURES_REQUIRED \"${arg_NEEDS}\""
                             " ENVIRONMENT \"HOLDFAST_TEST_SERVERS=${HOLDFAST_TEST_SERVERS}\"")
  endif()

  gtest_discover_tests(
    ${target}
    TEST_PREFIX "${name}."
    TEST_LIST ${target}_cases
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors})
  # gtest_discover_tests() flattens lists, so properties that are lists have to be set by a file that ctest reads after its own.
  set(labels "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  file(WRITE "${labels}" "foreach(case IN LISTS ${target}_cases)\n"
                         "  set_tests_properties(\"\${case}\" PROPERTIES ${properties})\nendforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels}")
endfunction()

function(holdfast_refuse_unparsed function name words)
  if(words)
    message(FATAL_ERROR "${function}(${name}): did not expect ${words}")
  endif()
endfunction()
