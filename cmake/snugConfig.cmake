# find_package(snug): the target snug::snug is the whole library, snug::<folder> one folder of it.

include(${CMAKE_CURRENT_LIST_DIR}/SnugLibraries.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/snugTargets.cmake)
