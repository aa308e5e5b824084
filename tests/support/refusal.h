#pragma once

#include "sim/error.h"

#include <string>

namespace test {

/// What the call is refused with, or "accepted".
template <typename Call>
std::string refusalOf(Call&& call)
{
    try {
        call();
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "accepted";
}

} // namespace test
