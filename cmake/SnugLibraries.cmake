# The libraries that Snug's own link to, each as an imported target. Snug's build and the installed package include
# this one list, so that they cannot differ.

include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(fmt)
find_dependency(hwy)
find_dependency(ZLIB)
find_dependency(JPEG)
find_dependency(PNG)
find_dependency(nlohmann_json)
find_dependency(Protobuf)

# libdnnl-dev's own config wants OpenCL, which only its recommended packages bring: look for the files as well.
find_package(dnnl CONFIG QUIET)
if(NOT TARGET DNNL::dnnl)
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()

# libzip-dev's own config wants three tools beside the library: look for the files as well.
find_package(libzip CONFIG QUIET)
if(NOT TARGET libzip::zip)
  find_path(LIBZIP_INCLUDE_DIR zip.h REQUIRED)
  find_library(LIBZIP_LIBRARY zip REQUIRED)
  add_library(libzip::zip UNKNOWN IMPORTED)
  set_target_properties(libzip::zip PROPERTIES
    IMPORTED_LOCATION ${LIBZIP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LIBZIP_INCLUDE_DIR})
endif()

# liburing-dev has no config for CMake.
if(NOT TARGET uring::uring)
  find_path(URING_INCLUDE_DIR liburing.h REQUIRED)
  find_library(URING_LIBRARY uring REQUIRED)
  add_library(uring::uring UNKNOWN IMPORTED)
  set_target_properties(uring::uring PROPERTIES
    IMPORTED_LOCATION ${URING_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${URING_INCLUDE_DIR})
endif()
