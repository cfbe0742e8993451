# SPDX-License-Identifier: Apache-2.0
# The installed package: find_package(samebits CONFIG), samebits::samebits, pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/samebits)
install(TARGETS samebits_library EXPORT samebits-targets FILE_SET HEADERS)
install(EXPORT samebits-targets NAMESPACE samebits:: DESTINATION ${package_dir})
set(package_has_cuda FALSE)
if(SAMEBITS_CUDA)
  set(package_has_cuda TRUE)
endif()
configure_package_config_file(cmake/samebits-config.cmake.in ${PROJECT_BINARY_DIR}/samebits-config.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/samebits-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/samebits-config.cmake ${PROJECT_BINARY_DIR}/samebits-config-version.cmake
  cmake/SamebitsTesting.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/samebits.pc.in ${PROJECT_BINARY_DIR}/samebits.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/samebits.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET samebits_program)
  install(TARGETS samebits_program)
  install(DIRECTORY tests/data/cases DESTINATION ${CMAKE_INSTALL_DATADIR}/samebits)  # what `samebits demo` explains
  install(FILES packaging/samebits.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES packaging/samebits.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME samebits)
endif()
install(TARGETS samebits_cblas)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
