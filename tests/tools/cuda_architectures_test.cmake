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
# Older than Ampere, which some toolkits do not know either: left out.
expect("80" 12.4 OFF "7.5")
expect("80" 13.0 OFF "6.1;7.0")
expect("90-real" 13.0 OFF "7.5;9.0;7.5")
expect("80;90-real" 12.4 ON "7.0")

function(expect_too_old expected capabilities)
  rankscope_cuda_too_old(too_old "${capabilities}")
  if(NOT too_old STREQUAL expected)
    message(SEND_ERROR "GPUs '${capabilities}': '${too_old}' too old, expected '${expected}'")
  endif()
endfunction()

expect_too_old("" "")
expect_too_old("" "8.0;10.0;12.1")
expect_too_old("7.5" "7.5;9.0;7.5")
