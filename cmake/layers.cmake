# SPDX-License-Identifier: Apache-2.0
# The two functions that the CMakeLists.txt of our folders are made of.
#
#   holdfast_layer(NAME
#                  [SOURCES file.cpp...]           # without any: a layer of headers only
#                  [LINKS target...])              # PRIVATE: holdfast::core SQLite::SQLite3
#     makes the static library holdfast_NAME, alias holdfast::NAME. Its users see include/; it sees src/ as well, so code
#     writes #include "core/timing.h".
#
#   holdfast_test(NAME
#                 SOURCES file.cpp...
#                 [LINKS target...]                # holdfast::NAME of the layers under test; GoogleTest comes by itself
#                 [LABELS label...]                # fast slow cli; tests/axes adds asan, tsan and soak
#                 [USES_CLI]                       # builds the command first; HOLDFAST_BINARY is its path, a string literal
#                 [NEEDS servers]                  # ctest starts the servers that tests share, but for those on an embedded store;
#                                                  # HOLDFAST_TEST_SERVERS says where
#                 [COMPUTES]                       # they compute, or read clocks: three of such at a time
#                 [ALONE]                          # nothing beside: what they see happen must happen by the clock
#                 [TIMEOUT seconds])               # for each case; unless given 120 for the first and a few for each further one
#     makes the program test_NAME and one ctest test NAME.Suite/store for each of its suites on each store, as
#     tests/axes/discover.py says. It sees include/, src/ and the root of the repository: #include "tests/support/await.h".
#     Does nothing when HOLDFAST_TESTS is off.
#
# A program of ours (src/cli, sim, bench) says holdfast_ours(TARGET) after add_executable. Files are written out one by one,
# never globbed: the tidy test reads the names here.

# The file that says where the servers of a run of tests are; tests/support/servers makes it.
set(HOLDFAST_TEST_SERVERS "${PROJECT_BINARY_DIR}/Testing/servers")

# So many tests run at once; ./dev reads the number here. Most of them wait most of the time. Of those that compute all the time, or
# read clocks, no more than three run at once: each locks one of these names.
set(HOLDFAST_TEST_JOBS 5)
set(HOLDFAST_TEST_TURNS first_turn second_turn third_turn)

# Tests that are no GoogleTests and compute.
function(holdfast_computes)
  foreach(test IN LISTS ARGN)
    get_property(count GLOBAL PROPERTY HOLDFAST_COMPUTING_TESTS)
    math(EXPR count "0${count} + 1")
    set_property(GLOBAL PROPERTY HOLDFAST_COMPUTING_TESTS ${count})
    list(LENGTH HOLDFAST_TEST_TURNS turns)
    math(EXPR index "${count} % ${turns}")
    list(GET HOLDFAST_TEST_TURNS ${index} turn)
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK ${turn})
    get_test_property(${test} COST cost)
    if(NOT cost)
      set_tests_properties(${test} PROPERTIES COST ${HOLDFAST_TEST_COMPUTES})
    endif()
  endforeach()
endfunction()
# ctest starts those with the highest COST first. Quick ones come first, so that a mistake is seen soon: what reads the repository,
# then programs without servers. Then those that compute, as there are many of them, and beside them all others, in mixed order: the
# command waits where a store computes.
set(HOLDFAST_TEST_FIRST 6000)
set(HOLDFAST_TEST_COMPUTES 4000)

# Which tests run on which stores.
set(HOLDFAST_AXES "${PROJECT_SOURCE_DIR}/tests/axes")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${HOLDFAST_AXES}/axes.py" "${HOLDFAST_AXES}/choice.py")
if(HOLDFAST_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # Links a test program in a third of the time. What users run is linked as they would link it.
  find_program(HOLDFAST_MOLD mold)
endif()

# Most of a small file's compile time goes into reading the same headers again, so a dozen files are compiled as one. Names in unnamed
# namespaces therefore differ within a folder, and enumerators there stand in a class. CMake's own UNITY_BUILD writes absolute paths,
# by which ccache would not recognise another clone. A source with the property HOLDFAST_APART is compiled by itself. The preset `dev`
# puts fewer together: a first build takes longer then, a build after a change less.
set(HOLDFAST_FILES_TOGETHER 24 CACHE STRING "So many source files are compiled as one")

function(holdfast_compile_together target)
  get_target_property(sources ${target} SOURCES)
  set(kept)
  set(lines)
  foreach(source IN LISTS sources)
    get_source_file_property(apart "${source}" HOLDFAST_APART)
    if(apart OR NOT source MATCHES "[.]cpp$")
      list(APPEND kept "${source}")
    else()
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
      # Layers see src/, and not the root.
      string(REGEX REPLACE "^src/" "" source "${source}")
      list(APPEND lines "#include \"${source}\"")
    endif()
  endforeach()
  list(LENGTH lines count)
  if(count LESS 2)
    return()
  endif()
  math(EXPR files "(${count} + ${HOLDFAST_FILES_TOGETHER} - 1) / ${HOLDFAST_FILES_TOGETHER}")
  math(EXPR each "(${count} + ${files} - 1) / ${files}")
  foreach(number RANGE 1 ${files})
    math(EXPR start "(${number} - 1) * ${each}")
    list(SUBLIST lines ${start} ${each} some)
    list(JOIN some "\n" text)
    set(together "${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cpp")
    file(CONFIGURE OUTPUT "${together}" CONTENT "${text}\n" @ONLY)
    list(APPEND kept "${together}")
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}")
endfunction()

# The language, the warnings, the hardening, the visibility and the private include folder of everything we compile.
function(holdfast_ours target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               POSITION_INDEPENDENT_CODE ON
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
  holdfast_compile_together(${target})
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

  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES HOLDFAST_TEST ON)
  holdfast_ours(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  if(HOLDFAST_MOLD)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
  # What is tested is optimised as users have it. Tests are not: half the time of their compiling would be that. Nor is undefined
  # behaviour looked for in the tests themselves: it would be another third.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${target} PRIVATE -O0 -fno-sanitize=undefined $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=fuzzer-no-link>)
  else()
    target_compile_options(${target} PRIVATE -Og)
  endif()
  if(arg_USES_CLI)
    add_dependencies(${target} holdfast_cli)
    target_compile_definitions(${target} PRIVATE "HOLDFAST_BINARY=\"$<TARGET_FILE:holdfast_cli>\"")
  endif()
  if(arg_NEEDS)
    add_dependencies(${target} ${arg_NEEDS})
  endif()
  holdfast_sanitized_test(${name})

  set(how)
  # A test whose store has gone since it was discovered runs nothing, and GoogleTest is content with that.
  set(properties "FAIL_REGULAR_EXPRESSION [==[Running 0 tests]==] WORKING_DIRECTORY [==[${CMAKE_CURRENT_BINARY_DIR}]==]")
  if(arg_NEEDS)
    list(APPEND how --needs ${arg_NEEDS})
    string(APPEND properties " ENVIRONMENT [==[HOLDFAST_TEST_SERVERS=${HOLDFAST_TEST_SERVERS}]==]")
  endif()
  if(arg_ALONE)
    string(APPEND properties " RUN_SERIAL ON")
  elseif(arg_COMPUTES)
    list(APPEND how --computes ${HOLDFAST_TEST_TURNS})
  endif()
  if("fast" IN_LIST arg_LABELS AND NOT arg_NEEDS)
    set(cost 5)
  elseif(arg_COMPUTES)
    set(cost 4)
  else()
    set(cost 3)
  endif()
  list(APPEND how --cost ${cost} --labels ${arg_LABELS} --properties "${properties}")
  if(arg_TIMEOUT)
    list(APPEND how --timeout ${arg_TIMEOUT} --each-timeout)
  endif()
  holdfast_discover(${name} ${how})
endfunction()

# What the sanitizers' presets build: with them compiling is slow, and the rest would not be run.
function(holdfast_sanitized_test name)
  foreach(sanitizer asan tsan)
    if(NOT TARGET ${sanitizer}_tests)
      add_custom_target(${sanitizer}_tests)
      execute_process(
        COMMAND "${Python3_EXECUTABLE}" -B "${HOLDFAST_AXES}/choice.py" ${sanitizer}
        OUTPUT_VARIABLE programs
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
      set_target_properties(${sanitizer}_tests PROPERTIES HOLDFAST_PROGRAMS "${programs}")
    endif()
    get_target_property(programs ${sanitizer}_tests HOLDFAST_PROGRAMS)
    if("${name}" IN_LIST programs)
      add_dependencies(${sanitizer}_tests test_${name})
    endif()
  endforeach()
endfunction()

# Lists the tests of a program when it has been linked; and when ctest starts, if tests/axes has changed since.
function(holdfast_discover name)
  set(target test_${name})
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(discover "${Python3_EXECUTABLE}" "${HOLDFAST_AXES}/discover.py" ${name} "$<TARGET_FILE:${target}>" --out "${out}" --results
               "${PROJECT_BINARY_DIR}/Testing/results" ${ARGN})
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    COMMAND ${discover}
    BYPRODUCTS "${out}_tests.cmake" "${out}_cases.txt"
    VERBATIM)
  list(JOIN discover "]===] [===[" discover)
  file(
    GENERATE
    OUTPUT "${out}_include.cmake"
    CONTENT
      "foreach(file axes choice discover)
  if(EXISTS \"$<TARGET_FILE:${target}>\" AND \"${HOLDFAST_AXES}/\${file}.py\" IS_NEWER_THAN \"${out}_tests.cmake\")
    execute_process(COMMAND [===[${discover}]===] COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
if(EXISTS \"${out}_tests.cmake\")
  include(\"${out}_tests.cmake\")
else()
  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${out}_include.cmake")
endfunction()

function(holdfast_refuse_unparsed function name words)
  if(words)
    message(FATAL_ERROR "${function}(${name}): did not expect ${words}")
  endif()
endfunction()
