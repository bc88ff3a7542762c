# SPDX-License-Identifier: Apache-2.0
# What the stores talk to their databases with.
#
#   HOLDFAST_DRIVERS           targets, for whoever links our archive
#   HOLDFAST_DRIVER_PACKAGES   find_package() of each that has a package
#   HOLDFAST_DRIVER_MODULES    pkg-config's name of each
find_package(Threads REQUIRED)
find_package(SQLite3 REQUIRED)
set(HOLDFAST_DRIVERS SQLite::SQLite3 Threads::Threads)
set(HOLDFAST_DRIVER_PACKAGES SQLite3 Threads)
set(HOLDFAST_DRIVER_MODULES sqlite3)

# holdfast_driver(OPTION MODULE DEBIAN_PACKAGE): the driver that only pkg-config knows, as PkgConfig::MODULE.
function(holdfast_driver option module package)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(${module} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${module}_FOUND)
    message(FATAL_ERROR "${option} needs ${module}, which pkg-config does not find: install Debian's ${package}, "
                        "or build without that store: -D${option}=OFF")
  endif()
endfunction()

if(HOLDFAST_POSTGRES)
  holdfast_driver(HOLDFAST_POSTGRES libpq libpq-dev)
  list(APPEND HOLDFAST_DRIVERS PkgConfig::libpq)
  list(APPEND HOLDFAST_DRIVER_MODULES libpq)
endif()
if(HOLDFAST_REDIS)
  holdfast_driver(HOLDFAST_REDIS hiredis libhiredis-dev)
  find_package(OpenSSL REQUIRED)
  list(APPEND HOLDFAST_DRIVERS PkgConfig::hiredis OpenSSL::SSL)
  list(APPEND HOLDFAST_DRIVER_PACKAGES OpenSSL)
  list(APPEND HOLDFAST_DRIVER_MODULES hiredis libssl libcrypto)
endif()
