#pragma once

#include <cstddef>

/// Bytes that this program has asked operator new for so far, freed or not.
std::size_t allocatedBytes();
