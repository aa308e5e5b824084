// The precompiled headers of sim (CMakeLists.txt) belong to a target, and a target needs a file.
