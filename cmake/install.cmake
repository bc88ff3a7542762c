# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies. Nothing of it knows where it was built or where it will lie: the whole tree can be moved.
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
set(generated "${PROJECT_BINARY_DIR}/package")

install(DIRECTORY include/holdfast DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET holdfast_cli)
  install(TARGETS holdfast_cli)
  # Who has built the command (`./dev run`) can install.
  add_dependencies(holdfast_cli holdfast holdfast_static)
endif()

# Two exports, as only who asks for the archive needs the drivers' packages.
foreach(library holdfast holdfast_static)
  install(TARGETS ${library} EXPORT ${library})
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
