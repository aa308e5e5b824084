// The precompiled headers of live (CMakeLists.txt) belong to a target, and a target needs a file.
