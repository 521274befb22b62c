# The core once for each instruction set, as object libraries; sets SLIMSVM_OBJECTS and SLIMSVM_X86. Whoever includes
# this may have set SLIMSVM_OPTIMISE to another level than -O3, and SLIMSVM_BASELINE_ONLY.
set(SLIMSVM_WARNINGS -Wall -Wextra -Wconversion -Wsign-conversion -Werror=return-type)
if(NOT DEFINED SLIMSVM_OPTIMISE)
  set(SLIMSVM_OPTIMISE -O3)
endif()

# Options in GCC's spelling; clang-cl takes them behind /clang:.
function(slimsvm_compile_options target)
  set(options ${ARGN})
  if(CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC")
    list(TRANSFORM options PREPEND "/clang:")
  endif()
  target_compile_options(${target} PRIVATE ${options})
endfunction()

# No fast-math: NaN must stay NaN and sums keep their order; contraction to fused multiply-add is allowed.
function(slimsvm_instruction_set name)
  list(TRANSFORM SLIMSVM_PER_SET PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ OUTPUT_VARIABLE sources)
  add_library(core_${name} OBJECT ${sources})
  target_compile_definitions(core_${name} PRIVATE SLIMSVM_ISA=${name})
  slimsvm_compile_options(core_${name} ${SLIMSVM_OPTIMISE} -ffp-contract=fast -Wno-psabi ${SLIMSVM_WARNINGS} ${ARGN})
  set_target_properties(core_${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()

# The processor that is compiled for. On macOS it may be another than the machine's, or several at once: these get the
# baseline alone. So does GCC on Windows, which does not align wide registers on the stack.
set(SLIMSVM_PROCESSOR "${CMAKE_SYSTEM_PROCESSOR}")
if(APPLE AND CMAKE_OSX_ARCHITECTURES)
  set(SLIMSVM_PROCESSOR "${CMAKE_OSX_ARCHITECTURES}")
endif()

set(SLIMSVM_PER_SET expansion.cpp active_set.cpp box_cd.cpp one_norm.cpp pair_cd.cpp refine.cpp scaled_hinge.cpp)
slimsvm_instruction_set(baseline)
set(SLIMSVM_OBJECTS $<TARGET_OBJECTS:core_baseline>)
if(NOT SLIMSVM_BASELINE_ONLY AND SLIMSVM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8
   AND NOT (WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  slimsvm_instruction_set(avx2 -mavx2 -mfma)
  slimsvm_instruction_set(avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
  list(APPEND SLIMSVM_OBJECTS $<TARGET_OBJECTS:core_avx2> $<TARGET_OBJECTS:core_avx512>)
  set(SLIMSVM_X86 ON)
endif()
