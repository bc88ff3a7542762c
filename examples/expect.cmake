# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=... -DEXPECTED=... -DFOLDER=... -P expect.cmake: runs the program in a fresh folder; it must end with 0
# and have written what is expected.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(COMMAND "${PROGRAM}" WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE written ERROR_VARIABLE written RESULT_VARIABLE code)
file(READ "${EXPECTED}" expected)
if(NOT code STREQUAL "0" OR NOT written STREQUAL expected)
  message(FATAL_ERROR "ended with ${code} and wrote\n${written}\ninstead of\n${expected}")
endif()
