# find_package(snug): the target snug::snug is the whole library, snug::<folder> one folder of it.
# find_package(snug COMPONENTS checking): snug::checking as well, check_op for tests of your own ops; needs GoogleTest.

include(${CMAKE_CURRENT_LIST_DIR}/SnugLibraries.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/snugTargets.cmake)

if("checking" IN_LIST snug_FIND_COMPONENTS)
  find_dependency(GTest)
  include(${CMAKE_CURRENT_LIST_DIR}/snugCheckingTargets.cmake OPTIONAL RESULT_VARIABLE snug_checking_FOUND)
  if(NOT snug_checking_FOUND AND snug_FIND_REQUIRED_checking)
    set(snug_FOUND FALSE)
    set(snug_NOT_FOUND_MESSAGE "this snug was built without its tests, so it has no component `checking`; build it with -DSNUG_TESTS=ON")
  endif()
endif()
