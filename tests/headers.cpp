// The precompiled headers of the tests (tests/CMakeLists.txt) belong to a target, and a target needs a file.
