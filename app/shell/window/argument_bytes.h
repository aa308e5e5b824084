// Arguments as bytes: Qt makes characters of them, and what is no UTF-8 would come out as the name of another file.
#pragma once

#include <QString>

#include <span>

namespace app {

/// Why the program cannot be called with these; empty where it can.
QString whyNoArguments(std::span<char* const> arguments);

} // namespace app
