# What the build needs: the libraries that Snug stands on, and what only its tests and builds use.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

include(SnugLibraries)

if(SNUG_TESTS)
  find_package(GTest REQUIRED)
endif()
