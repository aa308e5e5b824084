#include "app/session/scenario_link.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <zlib.h>

namespace app {
namespace {

constexpr qsizetype kMostCharacters = 1'000'000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U; ///< of the scenario; the gallery's are a thousandth of it
constexpr qsizetype kSchemeLength = 10;

QString withoutSpace(QString text)
{
    text.removeIf([](QChar c) { return c.isSpace(); });
    return text;
}

/// Without what mail programs and browsers put around it: <rankscope:…>, rankscope://….
QString bare(const QString& link)
{
    QString text = link.trimmed();
    if (text.startsWith(QLatin1Char('<')) && text.endsWith(QLatin1Char('>')))
        text = text.mid(1, text.size() - 2).trimmed();
    if (text.mid(kSchemeLength).startsWith(QLatin1String("//")))
        text.remove(kSchemeLength, 2);
    return text;
}

[[noreturn]] void refuse(const QString& why)
{
    throw sim::Error(why.toStdString());
}

/// To its end and no further than kMostBytes.
std::string unzipped(const QByteArray& bytes)
{
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.constData())); // zlib only reads it
    stream.avail_in = static_cast<uInt>(bytes.size());
    if (inflateInit(&stream) != Z_OK)
        refuse(QStringLiteral("there is no memory to unpack the link"));
    struct Ended {
        z_stream& stream;
        ~Ended() { inflateEnd(&stream); }
    } const ended{stream};
    std::string out;
    std::array<char, 1 << 14> part{};
    int state = Z_OK;
    while (state == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(part.data());
        stream.avail_out = static_cast<uInt>(part.size());
        state = inflate(&stream, Z_NO_FLUSH);
        out.append(part.data(), part.size() - stream.avail_out);
        if (out.size() > kMostBytes)
            refuse(QStringLiteral("the link unpacks to more than %1 MiB, which no scenario needs").arg(kMostBytes >> 20U));
    }
    if (state == Z_BUF_ERROR)
        refuse(
            QStringLiteral("the link is cut off: %1 bytes of the scenario are there, the rest is missing. Copy the whole of it")
                .arg(out.size()));
    if (state != Z_STREAM_END)
        refuse(QStringLiteral("the link is damaged: what it holds cannot be unpacked. Copy it anew"));
    return out;
}

/// Where a character of what stands behind the scheme is in the link as it was given, with spaces and slashes before it.
qsizetype placeIn(const QString& link, qsizetype ofHeld)
{
    qsizetype at = link.indexOf(QLatin1Char(':')) + 1;
    while (at < link.size() && link[at] == QLatin1Char('/'))
        ++at;
    for (qsizetype held = 0; at < link.size(); ++at)
        if (!link[at].isSpace() && held++ == ofHeld)
            break;
    return at;
}

} // namespace

bool isScenarioLink(const QString& text)
{
    return bare(text).startsWith(QLatin1String(kLinkScheme), Qt::CaseInsensitive);
}

QString shortLink(const QString& link)
{
    constexpr qsizetype kShown = 20;
    const QString text = withoutSpace(link.left(2 * kShown));
    return text.size() > kShown ? text.left(kShown) + QChar(0x2026) : text;
}

QString scenarioLink(const std::string& scenarioText)
{
    constexpr auto kAlphabet = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;
    return QLatin1String(kLinkScheme) + QString::fromLatin1(zipped(QByteArray::fromStdString(scenarioText)).toBase64(kAlphabet));
}

std::string scenarioOfLink(const QString& link)
{
    if (link.size() > kMostCharacters)
        refuse(QStringLiteral("the link has %1 characters; at most %2 are read. Share such a scenario as a file")
                   .arg(link.size())
                   .arg(kMostCharacters));
    const QString text = withoutSpace(bare(link)).mid(kSchemeLength);
    if (text.isEmpty())
        refuse(QStringLiteral("the link holds nothing: behind rankscope: a compressed scenario is expected"));
    const auto decoded =
        QByteArray::fromBase64Encoding(text.toUtf8(), QByteArray::Base64UrlEncoding | QByteArray::AbortOnBase64DecodingErrors);
    if (!decoded) {
        const auto* const wrong = std::find_if(text.begin(), text.end(), [](QChar c) {
            return !(c.unicode() < 128 && (c.isLetterOrNumber() || c == QLatin1Char('-') || c == QLatin1Char('_')));
        });
        refuse(wrong == text.end()
                   ? QStringLiteral("the link is cut off: its last character is missing. Copy the whole of it")
                   : QStringLiteral("the link is damaged: its character %1, “%2”, is no letter, digit, - or _. Copy it anew")
                         .arg(placeIn(link, wrong - text.begin()) + 1)
                         .arg(*wrong));
    }
    return unzipped(*decoded);
}

QString whyNotOpened(const QString& link)
{
    try {
        scenarioOfLink(link);
        return {};
    } catch (const sim::Error& error) {
        return QString::fromUtf8(error.what());
    }
}

QByteArray zipped(const QByteArray& bytes)
{
    constexpr qsizetype kLengthBytes = 4; // which Qt puts before the stream
    constexpr int kSmallest = 9;
    return qCompress(bytes, kSmallest).mid(kLengthBytes);
}

} // namespace app
