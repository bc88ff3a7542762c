# SPDX-License-Identifier: Apache-2.0
# What the stores talk to their databases with, and how whoever links our archive finds it again.
#
#   HOLDFAST_DRIVERS           targets
#   HOLDFAST_DRIVER_PACKAGES   what find_package() finds of them
#   HOLDFAST_DRIVER_MODULES    the same by pkg-config's names
find_package(Threads REQUIRED)
find_package(SQLite3 REQUIRED)
# Time zones, until the oldest standard library we support has them.
find_package(date REQUIRED)
set(HOLDFAST_DRIVERS SQLite::SQLite3 Threads::Threads date::date-tz)
set(HOLDFAST_DRIVER_PACKAGES SQLite3 Threads date)
set(HOLDFAST_DRIVER_MODULES sqlite3)

# Of a driver that is loaded when it is first needed (src/base/driver.h) only the headers are used here.
macro(holdfast_driver_on_demand option module package)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  if(NOT ${module}_FOUND)
    message(FATAL_ERROR "${option} needs ${module}, which pkg-config does not find: install Debian's ${package}, "
                        "or build without that store: -D${option}=OFF")
  endif()
  add_library(holdfast_headers_of_${module} INTERFACE)
  target_include_directories(holdfast_headers_of_${module} SYSTEM INTERFACE ${${module}_INCLUDE_DIRS})
endmacro()

if(HOLDFAST_POSTGRES)
  holdfast_driver_on_demand(HOLDFAST_POSTGRES libpq libpq-dev)
endif()
if(HOLDFAST_REDIS)
  holdfast_driver_on_demand(HOLDFAST_REDIS hiredis libhiredis-dev)
  holdfast_driver_on_demand(HOLDFAST_REDIS openssl libssl-dev)
endif()
if(HOLDFAST_MONGODB)
  holdfast_driver_on_demand(HOLDFAST_MONGODB libmongoc-1.0 libmongoc-dev)
endif()
if(HOLDFAST_MARIADB)
  holdfast_driver_on_demand(HOLDFAST_MARIADB libmariadb libmariadb-dev)
endif()
