# Whether the CUDA kernels are built, as INFERNO_CUDA says: AUTO (where a compiler for them is found), ON or OFF. Sets
# INFERNO_WITH_CUDA. INFERNO_CUDA_ARCHITECTURES says for which GPUs, as CMAKE_CUDA_ARCHITECTURES does: each costs time to
# compile and place in the program; what is not named -real also brings code that newer GPUs' drivers compile.
set(INFERNO_CUDA AUTO CACHE STRING "CUDA kernels: AUTO, ON or OFF")
set_property(CACHE INFERNO_CUDA PROPERTY STRINGS AUTO ON OFF)
set(INFERNO_CUDA_ARCHITECTURES "80-real;89-real;90a-real;120" CACHE STRING "The GPUs that the CUDA kernels are for")
set(oldest_nvcc 12.8)

set(INFERNO_WITH_CUDA FALSE)
if(INFERNO_CUDA)
  find_program(INFERNO_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  set(nvcc_version "none")
  if(INFERNO_NVCC)
    execute_process(COMMAND ${INFERNO_NVCC} --version OUTPUT_VARIABLE nvcc_says ERROR_QUIET)
    if(nvcc_says MATCHES "release ([0-9]+\\.[0-9]+)")
      set(nvcc_version ${CMAKE_MATCH_1})
    endif()
  endif()
  # Where nobody has asked for CUDA, a compiler that does not work with this host's is one that is not there.
  if(INFERNO_CUDA STREQUAL "AUTO" AND NOT nvcc_version STREQUAL "none" AND NOT DEFINED INFERNO_NVCC_WORKS)
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_probe)
    file(WRITE ${probe}.cu "#include <cuda_runtime.h>\n__global__ void f() {}\nint main() { return cudaFree(nullptr) != 0; }\n")
    execute_process(COMMAND ${INFERNO_NVCC} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -o ${probe} ${probe}.cu
      RESULT_VARIABLE probe_failed OUTPUT_QUIET ERROR_QUIET)
    if(probe_failed)
      set(INFERNO_NVCC_WORKS FALSE CACHE INTERNAL "")
      message(STATUS "CUDA kernels: ${INFERNO_NVCC} does not compile a line with ${CMAKE_CXX_COMPILER}; "
        "-DINFERNO_CUDA=ON shows why")
    else()
      set(INFERNO_NVCC_WORKS TRUE CACHE INTERNAL "")
    endif()
  endif()
  if(INFERNO_CUDA STREQUAL "AUTO" AND DEFINED INFERNO_NVCC_WORKS AND NOT INFERNO_NVCC_WORKS)
    set(nvcc_version "none")
  endif()
  if(NOT nvcc_version STREQUAL "none" AND NOT nvcc_version VERSION_LESS oldest_nvcc)
    set(CMAKE_CUDA_COMPILER ${INFERNO_NVCC})
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # src/backend/CMakeLists.txt links it
    set(CMAKE_CUDA_ARCHITECTURES ${INFERNO_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know that nvcc has it
    find_package(CUDAToolkit REQUIRED)
    set(INFERNO_WITH_CUDA TRUE)
  elseif(NOT INFERNO_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "INFERNO_CUDA=${INFERNO_CUDA}: expected nvcc ${oldest_nvcc} or newer in PATH, CUDA_PATH/bin or "
      "/usr/local/cuda/bin, found ${nvcc_version}; install NVIDIA's package cuda-toolkit, or build without "
      "(-DINFERNO_CUDA=OFF)")
  endif()
endif()
if(INFERNO_WITH_CUDA)
  message(STATUS "CUDA kernels: for ${INFERNO_CUDA_ARCHITECTURES}, by nvcc ${nvcc_version}")
else()
  message(STATUS "CUDA kernels: none (INFERNO_CUDA=${INFERNO_CUDA})")
endif()
