# Debian takes a package a component, below /usr; the tar is one folder that can lie anywhere.
if(CPACK_GENERATOR MATCHES "DEB")
  set(CPACK_COMPONENTS_GROUPING IGNORE)
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
