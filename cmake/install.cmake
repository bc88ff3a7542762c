# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies. Nothing of it knows where it was built or where it will lie: the whole tree can be moved.
#
# Three components, each a package (cmake/package.cmake): command, library, and development, which is what does not say.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
set(generated "${PROJECT_BINARY_DIR}/package")

install(DIRECTORY include/holdfast DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
# As Debian has it: each package has a folder of its own there.
foreach(part "holdfast command" "libholdfast library" "libholdfast-dev development")
  separate_arguments(part)
  list(GET part 0 name)
  list(GET part 1 component)
  install(
    FILES LICENSE
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}"
    RENAME copyright
    COMPONENT ${component})
endforeach()
# Who has built only the library installs only that.
if(TARGET holdfast_cli)
  install(TARGETS holdfast_cli COMPONENT command OPTIONAL)
  # Who has built the pages can install: they need the command.
  add_dependencies(holdfast_cli holdfast holdfast_static)
  set(pages "${PROJECT_BINARY_DIR}/pages")
  set(script "${PROJECT_SOURCE_DIR}/cmake/pages.cmake")
  add_custom_command(
    OUTPUT "${pages}/man/holdfast.1"
    COMMAND "${CMAKE_COMMAND}" "-DHOLDFAST=$<TARGET_FILE:holdfast_cli>" "-DFOLDER=${pages}" -P "${script}"
    DEPENDS holdfast_cli "${script}"
    COMMENT "Man pages and completions")
  add_custom_target(man_pages ALL DEPENDS "${pages}/man/holdfast.1")
  install(DIRECTORY "${pages}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command OPTIONAL)
  # Where Debian's packages of the three look for those of others.
  install(FILES "${pages}/completions/holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT command OPTIONAL)
  install(FILES "${pages}/completions/_holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT command OPTIONAL)
  install(FILES "${pages}/completions/holdfast.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT command OPTIONAL)
endif()

# Two exports, as only who asks for the archive needs the drivers' packages.
foreach(library holdfast holdfast_static)
  install(
    TARGETS ${library}
    EXPORT ${library}
    LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT ${library} DESTINATION "${package}" NAMESPACE holdfast:: FILE ${library}-targets.cmake)
endforeach()
set_target_properties(holdfast_static PROPERTIES EXPORT_NAME static)

configure_package_config_file(cmake/holdfast-config.cmake.in "${generated}/holdfast-config.cmake" INSTALL_DESTINATION "${package}"
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${generated}/holdfast-config-version.cmake" COMPATIBILITY ${compatibility})
install(FILES "${generated}/holdfast-config.cmake" "${generated}/holdfast-config-version.cmake" DESTINATION "${package}")

# pkg-config finds the prefix from where the file lies.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE prefix)
list(JOIN HOLDFAST_STORES " " stores)
# The drivers as they are linked, and not Requires.private: that would ask for all that libpq was built with (Kerberos, LDAP), of
# which Debian has no archives.
find_package(PkgConfig REQUIRED)
pkg_check_modules(holdfast_drivers REQUIRED QUIET ${HOLDFAST_DRIVER_MODULES})
list(TRANSFORM holdfast_drivers_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE drivers)
list(APPEND drivers -ldate-tz)  # which pkg-config does not know
list(JOIN drivers " " drivers)
configure_file(cmake/holdfast.pc.in "${generated}/holdfast.pc" @ONLY)
install(FILES "${generated}/holdfast.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
