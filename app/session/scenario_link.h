// A scenario as text that fits into a chat message: "rankscope:", then the file's text, compressed (zlib) and in base64url (RFC
// 4648, without padding). What is opened is byte for byte what was shared.
#pragma once

#include <QByteArray>
#include <QString>

#include <string>

namespace app {

inline constexpr const char* kLinkScheme = "rankscope:";

/// Whatever its case, and with whatever white space, <> or // a mail program put around and into it.
bool isScenarioLink(const QString&);
/// A name for messages, where the whole would fill the screen: "rankscope:eJxtkE1…".
QString shortLink(const QString& link);
QString scenarioLink(const std::string& scenarioText);
/// Throws sim::Error where the link is too long, cut off, damaged, or grows beyond 4 MiB: nothing more is unpacked then.
std::string scenarioOfLink(const QString& link);

/// What scenarioOfLink would throw; empty where it throws nothing.
QString whyNotOpened(const QString& link);

/// A zlib stream (RFC 1950).
QByteArray zipped(const QByteArray&);

} // namespace app
