# snug_folder(NAME [SOURCES ...] [TESTS ...] [FOLDERS ...] [LIBRARIES ...])
#
# One folder of snug/ as the static library snug_<NAME>: SOURCES without .cpp, the FOLDERS to its left that it
# includes, the external LIBRARIES that it needs. Each word of TESTS names <word>_test.cpp; together they are the
# program <NAME>_test, which ctest runs whole.
function(snug_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;TESTS;FOLDERS;LIBRARIES" ${ARGN})
  set(library snug_${name})
  list(TRANSFORM arg_SOURCES APPEND .cpp)
  list(TRANSFORM arg_FOLDERS PREPEND snug_)
  if(arg_SOURCES)
    add_library(${library} STATIC ${arg_SOURCES})
    set(visibility PUBLIC)
    target_compile_options(${library} PRIVATE ${SNUG_WARNINGS})
    snug_fuzzed(${name})
    snug_together(${library} ${name} ${arg_SOURCES})
    snug_precompile(${library} snug_headers)
  else()
    add_library(${library} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(${library} ${visibility}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${library} ${visibility} cxx_std_20)
  target_link_libraries(${library} ${visibility} ${arg_FOLDERS} ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY SNUG_FOLDERS ${library})

  if(SNUG_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TESTS APPEND _test.cpp)
    snug_test(${name}_test SOURCES ${arg_TESTS} FOLDERS ${name} testing)
  endif()
endfunction()

# snug_test(NAME SOURCES ... FOLDERS ... [LIBRARIES ...]): a GoogleTest program that ctest runs.
function(snug_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;FOLDERS;LIBRARIES" ${ARGN})
  list(TRANSFORM arg_FOLDERS PREPEND snug_)
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${SNUG_WARNINGS} ${SNUG_LITTLE_OPTIMISATION} ${SNUG_LARGE_HEAP})
  target_link_libraries(${name} PRIVATE ${arg_FOLDERS} ${arg_LIBRARIES} GTest::gtest snug_testing)
  snug_precompile(${name} snug_test_headers)
  snug_together(${name} tests ${arg_SOURCES})
  add_test(NAME ${name} COMMAND ${name})
  set_property(TEST ${name} PROPERTY PROCESSORS 2)
  set_property(GLOBAL APPEND PROPERTY SNUG_TEST_PROGRAMS ${name})
endfunction()

# g++ 12 sees overlaps and overflows in std::string that are not there, and where much is compiled in one go an empty
# std::optional as a value that was never set.
set(SNUG_WARNINGS -Wall -Wextra -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${SNUG_TOGETHER}>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${SNUG_WERROR}>:-Werror>)

# Folders that read files from elsewhere are compiled with libFuzzer's counters, for tests/fuzz. (The counters alone: what
# -fsanitize=fuzzer-no-link adds does not go with precompiled headers.)
set(SNUG_FUZZED_FOLDERS base data interop train cli)
function(snug_fuzzed name)
  if(SNUG_FUZZ AND name IN_LIST SNUG_FUZZED_FOLDERS)
    target_compile_options(snug_${name} PRIVATE
      -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp)
  endif()
endfunction()

# For what computes little, such as tests and readers of JSON: optimising it was a third of the time of a build.
set(SNUG_LITTLE_OPTIMISATION $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_FLAGS MATCHES -fsanitize=)
  set(SNUG_LITTLE_OPTIMISATION -O0)
endif()

# Sources that are compiled together take 700 MB; to look for garbage among it takes a tenth of the time.
set(SNUG_LARGE_HEAP $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)

# Most of a compilation went into these headers, so they are read once: by every library, and with GoogleTest by every
# test. A source includes what it uses all the same; it compiles without them (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
set(SNUG_COMMON_HEADERS
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <random> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h>)

function(snug_headers_target name)
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${SNUG_WARNINGS} $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  target_link_libraries(${name} PRIVATE fmt::fmt OpenMP::OpenMP_CXX)
  target_precompile_headers(${name} PRIVATE ${SNUG_COMMON_HEADERS} ${ARGN})

  # No two compilations give the same precompiled file: ccache goes by this one, so that one tree finds what was compiled
  # in another.
  string(SHA1 sum "${SNUG_COMMON_HEADERS} ${ARGN} ${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION} ${GTest_VERSION}")
  foreach(suffix gch pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.${suffix}.sum CONTENT ${sum})
  endforeach()
endfunction()

function(snug_precompile name headers)
  target_precompile_headers(${name} REUSE_FROM ${headers})
endfunction()

snug_headers_target(snug_headers)
# For what is optimised little: g++ takes them at any level, clang does not.
set(SNUG_LITTLE_HEADERS snug_headers)
if(CMAKE_CXX_FLAGS MATCHES -fsanitize=)
  set(SNUG_LITTLE_HEADERS snug_little_headers)
  snug_headers_target(snug_little_headers)
  target_compile_options(snug_little_headers PRIVATE ${SNUG_LITTLE_OPTIMISATION})
endif()
if(SNUG_TESTS)
  snug_headers_target(snug_test_headers <gtest/gtest.h>)
  target_link_libraries(snug_test_headers PRIVATE GTest::gtest)
  target_compile_options(snug_test_headers PRIVATE ${SNUG_LITTLE_OPTIMISATION})
endif()
