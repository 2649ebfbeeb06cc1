# What the build needs: the libraries that Snug stands on, and what only its tests and builds use.

find_program(CCACHE ccache)
if(CCACHE)
  # Without the first two ccache does not take what uses a precompiled header; the last spares it a preprocessor run.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_PCH_EXTSUM=true CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_DEPEND=true ${CCACHE})
endif()

include(SnugLibraries)

if(SNUG_TESTS)
  find_package(GTest REQUIRED)
endif()
