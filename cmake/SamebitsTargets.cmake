# SPDX-License-Identifier: Apache-2.0
# One place for the flags that every target of ours has.

add_library(samebits_flags INTERFACE)
target_compile_features(samebits_flags INTERFACE cxx_std_20)
target_compile_options(samebits_flags INTERFACE
  -ffp-contract=off  # a contracted multiply-add is another order
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SAMEBITS_WERROR}>>:-Werror>)
if(SAMEBITS_SANITIZE)
  target_compile_options(samebits_flags INTERFACE
    -fsanitize=${SAMEBITS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(samebits_flags INTERFACE -fsanitize=${SAMEBITS_SANITIZE})
endif()
target_include_directories(samebits_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)

# samebits_layer(NAME SOURCES file... [LIBRARIES lib...]): the objects of one folder of src/. A layer includes only what
# stands to its left (tests/packaging/check_layers.py). Symbols are hidden, except what a header of include/samebits
# declares: `namespace [[gnu::visibility("default")]] samebits` there exports it.
function(samebits_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_library(samebits_${name} OBJECT ${arg_SOURCES})
  set_target_properties(samebits_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(samebits_${name} PRIVATE samebits_flags fmt::fmt Threads::Threads ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY SAMEBITS_LAYERS samebits_${name})
  set_property(GLOBAL APPEND PROPERTY SAMEBITS_LIBRARIES ${arg_LIBRARIES})
endfunction()

# samebits_test(NAME LABELS label... SOURCES file... [LIBRARIES lib...] [TIMEOUT s]): a GoogleTest program against the
# internals; each TEST becomes a ctest.
function(samebits_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE samebits_internal samebits_flags fmt::fmt GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE SAMEBITS_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
  # A list of labels does not survive gtest_discover_tests; this file is read after its own.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(WRITE ${labels_file} "set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()
