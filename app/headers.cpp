// The precompiled headers of app (CMakeLists.txt) belong to a target, and a target needs a file.
