#pragma once

#include <string>
#include <string_view>

/// SHA-256 (FIPS 180-4) in lower-case hexadecimal: goldens of large worlds hold digests in place of lists.
std::string sha256(std::string_view bytes);
