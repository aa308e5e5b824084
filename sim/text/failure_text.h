// What went wrong, in words for a person, whoever threw it.
#pragma once

#include <exception>
#include <string>

namespace sim {

/// Our own errors as they are. Those of the standard library's file system: the file, and what the system says. Those of the JSON
/// library without the name that it gives them. Where memory has run out, that.
std::string failureText(const std::exception&);

} // namespace sim
