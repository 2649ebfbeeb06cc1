# The package that other projects find with find_package(snug): the libraries of all folders but those for tests, their
# headers, and snug::snug, which stands for all of them.
include(CMakePackageConfigHelpers)

get_property(folders GLOBAL PROPERTY SNUG_FOLDERS)
list(REMOVE_ITEM folders snug_testing snug_checking)  # The second is a component of its own, see below.
foreach(library ${folders})
  string(REGEX REPLACE "^snug_" "" name ${library})
  set_property(TARGET ${library} PROPERTY EXPORT_NAME ${name})
endforeach()

add_library(snug_library INTERFACE)
add_library(snug::snug ALIAS snug_library)
target_link_libraries(snug_library INTERFACE ${folders})
set_property(TARGET snug_library PROPERTY EXPORT_NAME snug)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/snug)
install(TARGETS ${folders} snug_library EXPORT snug ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT snug NAMESPACE snug:: FILE snugTargets.cmake DESTINATION ${package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/snug DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN testing EXCLUDE PATTERN cli EXCLUDE PATTERN "*_testing.h" EXCLUDE)

# check_op for the tests of users' own ops: find_package(snug COMPONENTS checking), target snug::checking. It stands on
# GoogleTest, so it is there only where Snug was built with its tests.
if(TARGET snug_checking)
  set_property(TARGET snug_checking PROPERTY EXPORT_NAME checking)
  install(TARGETS snug_checking EXPORT snug_checking ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT snug_checking NAMESPACE snug:: FILE snugCheckingTargets.cmake DESTINATION ${package})
  install(FILES ${PROJECT_SOURCE_DIR}/snug/testing/check_op.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/snug/testing)
endif()

write_basic_package_version_file(${PROJECT_BINARY_DIR}/snugConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/snugConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SnugLibraries.cmake
  ${PROJECT_SOURCE_DIR}/cmake/snugConfig.cmake
  DESTINATION ${package})
