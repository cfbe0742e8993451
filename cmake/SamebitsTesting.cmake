# SPDX-License-Identifier: Apache-2.0
# samebits_add_determinism_suite(NAME SOURCES file... [LIBRARIES lib...]): a program that runs the determinism suite on your
# own gemm (<samebits/testing.h>), each clause a ctest.
function(samebits_add_determinism_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE samebits::samebits GTest::gtest ${arg_LIBRARIES})
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS determinism)
endfunction()
