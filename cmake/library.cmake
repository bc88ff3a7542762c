# SPDX-License-Identifier: Apache-2.0
# What a user links, made of the objects of all layers: one library with the API outside and everything else hidden.
#
#   target_link_libraries(app PRIVATE holdfast::holdfast)     # libholdfast.so
#   target_link_libraries(app PRIVATE holdfast::static)       # libholdfast.a
#
# Sets HOLDFAST_STORES, the stores that were built.
include(GNUInstallDirs)
set(objects)
set(HOLDFAST_STORES)
foreach(folder IN LISTS layers)
  cmake_path(GET folder FILENAME layer)
  list(APPEND objects "$<TARGET_OBJECTS:holdfast_${layer}>")
  if(folder MATCHES "^src/stores/" AND NOT layer STREQUAL "decorators")
    list(APPEND HOLDFAST_STORES ${layer})
  endif()
endforeach()

add_library(holdfast SHARED ${objects})
add_library(holdfast_static STATIC ${objects})
add_library(holdfast::holdfast ALIAS holdfast)
add_library(holdfast::static ALIAS holdfast_static)
foreach(library holdfast holdfast_static)
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(${library} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(${library} PROPERTIES OUTPUT_NAME holdfast LINKER_LANGUAGE CXX)
endforeach()

# Who links the archive links the drivers; the shared library has them already.
target_link_libraries(holdfast_static PRIVATE ${HOLDFAST_DRIVERS})
target_link_libraries(holdfast PRIVATE "$<BUILD_INTERFACE:${HOLDFAST_DRIVERS}>" "$<BUILD_INTERFACE:holdfast_hardening>")

# Before 1.0 every minor version may break programs built with the last one.
set(soname ${PROJECT_VERSION_MAJOR})
if(soname EQUAL 0)
  set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
set(map "${PROJECT_SOURCE_DIR}/cmake/holdfast.map")
target_link_options(holdfast PRIVATE "LINKER:--version-script=${map}")
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_link_options(holdfast PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(holdfast PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soname} LINK_DEPENDS "${map}")
