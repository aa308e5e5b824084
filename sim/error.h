// The one way the library fails: an exception whose message a person can act on.
#pragma once

#include <stdexcept>
#include <string>

namespace sim {

/// Thrown when an input cannot be served. what() says what was asked, the numbers in it, and what would work.
/// Programming errors are assertions, never this.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace sim
