#include "app/shell/window/argument_bytes.h"

#include "sim/text/quoted.h"

#include <QObject>

#include <cstdio>
#include <string>
#include <string_view>

namespace app {
namespace {

/// Bytes past ASCII as the shell's $'…' takes them.
QString escapedBytes(std::string_view text)
{
    QString out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 0x20 || byte > 0x7E ? QStringLiteral("\\x%1").arg(byte, 2, 16, QLatin1Char('0')) : QString(QLatin1Char(c));
    }
    return out;
}

} // namespace

QString whyNoArguments(std::span<char* const> arguments)
{
    for (const std::string_view text : arguments)
        if (sim::validUtf8(text) != text)
            return QObject::tr("%1: is no valid UTF-8, and what Rankscope read or wrote would be called otherwise: use a name "
                               "that is (convmv renames)")
                .arg(escapedBytes(text));
    return {};
}

} // namespace app
