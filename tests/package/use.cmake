# Installs BUILD into a new prefix below WORK, then configures, builds and runs app/ with nothing but that prefix.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
# check_op is a component of the package; nothing else that is for tests belongs to it.
file(GLOB_RECURSE leaked ${WORK}/prefix/*testing*)
list(FILTER leaked EXCLUDE REGEX "/snug/testing/check_op\\.h$")
if(leaked)
  message(FATAL_ERROR "what is for tests only was installed: ${leaked}")
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/app)
run(${WORK}/build/own_op_test)
