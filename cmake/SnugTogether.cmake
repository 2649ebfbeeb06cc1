# Sources of one library or program that are compiled together, a few in one go: the headers and templates that they share
# are then read once, which halves the time of a build from nothing. Nothing else changes, and where one works on Snug a
# source at a time is quicker. So scripts/test.sh asks for it, and the presets for sanitizers.
#
# `most` leaves out the folders up to ops: tests/adding_an_op builds them in another tree, where ccache finds only what was
# compiled alike. Kernels are always by themselves: most include themselves once for each set of instructions.
set(SNUG_TOGETHER "" CACHE STRING "What is compiled several sources in one go: nothing, `most` or `all`")
set_property(CACHE SNUG_TOGETHER PROPERTY STRINGS "" most all)
set(SNUG_APART base tensor graph ops testing)

# snug_together(TARGET FOLDER SOURCE...): the sources, paths from here, of a target of this folder of snug/, or of `tests`.
function(snug_together target folder)
  if(NOT SNUG_TOGETHER OR folder STREQUAL kernels OR (SNUG_TOGETHER STREQUAL most AND folder IN_LIST SNUG_APART))
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(tool ${PROJECT_SOURCE_DIR}/tools/group_sources.py)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${tool} 8 ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS ARGN groups)
    if(NOT group STREQUAL alone)
      set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tool} ${ARGN})
endfunction()
