# SPDX-License-Identifier: Apache-2.0
# What `cpack` makes of what is installed: three Debian packages, for the Debian that they are built on. `./dev package` calls it.
#
#   holdfast          the command, which needs no library of ours
#   libholdfast       the shared library
#   libholdfast-dev   headers, the archive, what CMake and pkg-config need
if(NOT TARGET holdfast_cli)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_VENDOR "Holdfast")
set(CPACK_PACKAGE_CONTACT "the people who build Holdfast <holdfast@localhost>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL command library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Whatever is built with our library on Debian then needs this package, of this version or a later one. CPack knows no such variable of
# one component.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# Drivers are loaded when a store asks for them (src/base/driver.h), so the linker does not tell them. Who has no Redis needs no
# hiredis, and whoever names one is told which package is missing. Of hiredis, whose layout changes, only the one that we were compiled
# with can be loaded.
set(drivers "")
if(HOLDFAST_POSTGRES)
  list(APPEND drivers libpq5)
endif()
if(HOLDFAST_REDIS)
  find_file(HIREDIS_HEADER hiredis.h HINTS ${hiredis_INCLUDE_DIRS} PATH_SUFFIXES hiredis REQUIRED)
  mark_as_advanced(HIREDIS_HEADER)
  file(STRINGS "${HIREDIS_HEADER}" soname REGEX "^#define HIREDIS_SONAME ")
  string(REGEX REPLACE "^#define HIREDIS_SONAME +" "" soname "${soname}")
  list(APPEND drivers "libhiredis${soname}" libssl3)
endif()
if(HOLDFAST_MARIADB)
  list(APPEND drivers libmariadb3)
endif()
if(HOLDFAST_MONGODB)
  list(APPEND drivers libmongoc-1.0-0)
endif()
list(JOIN drivers ", " drivers)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME holdfast)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "${drivers}")
string(CONCAT CPACK_DEBIAN_COMMAND_DESCRIPTION "One of many processes at a time, on any number of machines: holdfast run KEY -- CMD. "
              "The leases live in a file (SQLite) or in a PostgreSQL, Redis, MongoDB, MariaDB or MySQL that is there already.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libholdfast)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "${drivers}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/package/triggers")
file(WRITE "${PROJECT_BINARY_DIR}/package/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "The shared library, in C++20: leases on keys with fencing tokens, and jobs that exclude each other with them.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libholdfast-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libholdfast (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
# Only who links the archive.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libsqlite3-dev, libhowardhinnant-date-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "What programs that use libholdfast are built with: headers, archive, CMake and pkg-config files.")

include(CPack)
