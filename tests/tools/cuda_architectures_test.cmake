# cmake -P: what is compiled for with which toolkit.
include(${CMAKE_CURRENT_LIST_DIR}/../../live/kernels/cuda/architectures.cmake)

function(expect expected version package capabilities)
  rankscope_cuda_architectures(list "${version}" "${package}" "${capabilities}")
  if(NOT list STREQUAL expected)
    message(SEND_ERROR "CUDA ${version}, package ${package}, GPUs '${capabilities}': '${list}', expected '${expected}'")
  endif()
endfunction()

expect("80;90-real" 12.4 ON "")
expect("80;90-real" 12.7.1 ON "")
expect("80;90-real;100-real;120-real" 12.8 ON "") # 100 is Blackwell Ultra's too, 120 that of 12.1
expect("80;90-real;100-real;120-real" 13.0.88 ON "")
expect("80" 12.4 OFF "")
expect("80" 13.0 OFF "")
expect("90-real" 12.4 OFF "9.0;9.0")
expect("80-real;90-real" 12.4 OFF "8.0;9.0")
expect("80" 12.6 OFF "12.0") # its PTX, until the toolkit knows the GPU
expect("120-real" 12.8 OFF "12.0")
expect("80" 12.8 OFF "10.3")
expect("103-real" 12.9 OFF "10.3")
expect("80" 13.0 OFF "15.0")
expect("89-real" 12.0 OFF "8.9")
