# tm_tests(io tm_io): one binary out of every tests/io/*_test.cc, one ctest entry for each test in it.
find_package(GTest REQUIRED)
include(GoogleTest)

function(tm_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc)
  string(REPLACE "/" "_" name ${folder})
  add_executable(${name}_tests ${sources})
  target_link_libraries(${name}_tests PRIVATE ${ARGN} tm_project GTest::gtest_main)
  target_compile_definitions(${name}_tests PRIVATE TIDEMILL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
