# SPDX-License-Identifier: Apache-2.0
# cmake -DHOLDFAST=PROGRAM -DFOLDER=FOLDER -P pages.cmake: what the command says of itself, as files: man pages, completions.
cmake_minimum_required(VERSION 3.25)

function(print file)
  execute_process(
    COMMAND "${HOLDFAST}" ${ARGN}
    OUTPUT_FILE "${FOLDER}/${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/man" "${FOLDER}/completions")
print(man/holdfast.1 help --man)
# The first page names all others, with the dash as roff wants it.
file(STRINGS "${FOLDER}/man/holdfast.1" names REGEX "^.fBholdfast(.-[a-z]+)+.fR.1.$")
foreach(name IN LISTS names)
  string(REGEX MATCHALL "-[a-z]+" words "${name}")
  list(TRANSFORM words REPLACE "^-" "")
  list(JOIN words "-" page)
  print(man/holdfast-${page}.1 help --man ${words})
endforeach()
print(completions/holdfast completions bash)
print(completions/_holdfast completions zsh)
print(completions/holdfast.fish completions fish)
