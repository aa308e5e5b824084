#include "sim/trace/readers/json_scan.h"

#include "sim/cancel.h"
#include "sim/trace/recording.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sim {
namespace {

bool isSpace(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// The next quote, backslash or line feed, or `end`.
const char* findQuote(const char* at, const char* end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), feed = _mm_set1_epi8('\n');
    for (; end - at >= 16; at += 16) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
        const auto hits = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(found, _mm_cmpeq_epi8(block, feed))));
        if (hits != 0)
            return at + std::countr_zero(hits);
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && *at != '\n')
        ++at;
    return at;
}

/// The next quote or bracket of any kind, or `end`.
const char* findStructure(const char* at, const char* end)
{
#if defined(__SSE2__)
    // '[' and ']' become '{' and '}' with this bit set.
    const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    for (; end - at >= 16; at += 16) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i folded = _mm_or_si128(block, bit);
        const auto hits = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(
            _mm_cmpeq_epi8(block, quote), _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)))));
        if (hits != 0)
            return at + std::countr_zero(hits);
    }
#endif
    while (at < end && *at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']')
        ++at;
    return at;
}

bool endsAString(const char* afterQuote, const char* end)
{
    skipSpace(afterQuote, end);
    return afterQuote == end || *afterQuote == ',' || *afterQuote == ':' || *afterQuote == '}' || *afterQuote == ']';
}

void appendUtf8(std::string& out, std::uint32_t code)
{
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    }
}

constexpr std::uint32_t kReplacement = 0xFFFD;

/// Length of the UTF-8 character at the beginning, 0 where there is none.
std::size_t utf8Length(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = byte(0) < 0x80                      ? 1
                               : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                               : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                               : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                                   : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF0 && byte(1) < 0x90) ||
        (byte(0) == 0xF4 && byte(1) > 0x8F))
        return 0;
    return length;
}

std::optional<std::uint32_t> hexCode(std::string_view text)
{
    std::uint32_t code = 0;
    if (text.size() < 4)
        return std::nullopt;
    const auto [after, error] = std::from_chars(text.data(), text.data() + 4, code, 16);
    return error == std::errc() && after == text.data() + 4 ? std::optional(code) : std::nullopt;
}

std::string_view withoutQuotes(std::string_view text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back()))
        text.remove_suffix(1);
    return text;
}

/// As profilers write nearly all: digits, a point and up to three more ("4458677009853.422"). Empty where it is written
/// otherwise.
std::optional<std::int64_t> plainMicrosecondsAsNs(std::string_view text)
{
    constexpr std::size_t kMostDigits = 16, kNsDigits = 3; // before the point, and behind it
    std::int64_t ns = 0;
    std::size_t at = 0;
    const auto takeDigits = [&] {
        const std::size_t first = at;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - first <= kMostDigits; ++at)
            ns = ns * 10 + (text[at] - '0');
        return at - first;
    };
    const std::size_t whole = takeDigits();
    if (whole == 0 || whole > kMostDigits || ns >= kMostTraceNs / 1000)
        return std::nullopt;
    std::size_t behind = 0;
    if (at < text.size() && text[at] == '.') {
        ++at;
        if (text.size() - at > kNsDigits)
            return std::nullopt;
        behind = takeDigits();
    }
    if (at != text.size())
        return std::nullopt;
    for (; behind < kNsDigits; ++behind)
        ns *= 10;
    return ns;
}

} // namespace

bool TextWindow::advance()
{
    checkCancelled();
    const std::size_t done = at == nullptr ? 0 : static_cast<std::size_t>(at - m_text.data());
    const std::size_t left = m_filled - done;
    if (done > 0) {
        std::memmove(m_text.data(), at, left);
        m_first += static_cast<std::int64_t>(done);
    }
    m_filled = left;
    if (m_text.size() < left + m_size)
        m_text.resize(left > 0 ? 2 * left + m_size : m_size);
    const std::size_t got = m_source.read(m_text.data() + left, m_text.size() - left);
    m_filled += got;
    at = m_text.data();
    return got > 0;
}

Scan scanString(const char*& at, const char* end, std::string_view& text, Quotes quotes)
{
    const char* const first = at;
    for (const char* place = at;;) {
        place = findQuote(place, end);
        if (place >= end)
            return Scan::more;
        if (*place == '\\') {
            if (end - place < 2)
                return Scan::more;
            place += 2;
            continue;
        }
        if (*place == '\n') { // a quote is missing, or a name holds one: only a guess can tell
            if (quotes == Quotes::strict)
                return Scan::bad;
            ++place;
            continue;
        }
        if (quotes == Quotes::guessed && !endsAString(place + 1, end)) {
            ++place;
            continue;
        }
        text = {first, static_cast<std::size_t>(place - first)};
        at = place + 1;
        return Scan::done;
    }
}

Scan scanValue(const char*& at, const char* end, std::string_view& text, Quotes quotes)
{
    const char* const first = at;
    if (at >= end)
        return Scan::more;
    const auto scanned = [&](const char* after) {
        text = {first, static_cast<std::size_t>(after - first)};
        at = after;
        return Scan::done;
    };
    if (*at == '"') {
        const char* place = at + 1;
        std::string_view inside;
        const Scan result = scanString(place, end, inside, quotes);
        return result == Scan::done ? scanned(place) : result;
    }
    if (*at == '{' || *at == '[') {
        std::size_t depth = 0;
        for (const char* place = at;;) {
            place = findStructure(place, end);
            if (place >= end)
                return Scan::more;
            const char c = *place++;
            if (c == '"') {
                std::string_view inside;
                const Scan result = scanString(place, end, inside, quotes);
                if (result != Scan::done)
                    return result;
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if (--depth == 0) {
                return scanned(place);
            }
        }
    }
    const char* place = at;
    while (place < end && *place != ',' && *place != '}' && *place != ']' && !isSpace(*place) && *place != '"' && *place != '{' &&
           *place != '[' && *place != ':')
        ++place;
    if (place >= end)
        return Scan::more;
    return place == first ? Scan::bad : scanned(place);
}

bool isNestedDeeper(std::string_view text, std::size_t most)
{
    const char* const end = text.data() + text.size();
    std::size_t depth = 0;
    for (const char* at = findStructure(text.data(), end); at < end; at = findStructure(at, end)) {
        const char c = *at++;
        if (c == '{' || c == '[') {
            if (++depth > most)
                return true;
        } else if (c != '"') {
            depth -= depth > 0 ? 1 : 0;
        } else {
            while (at < end && *at != '"')
                at += *at == '\\' && end - at > 1 ? 2 : 1;
            at += at < end ? 1 : 0;
        }
    }
    return false;
}

std::string meantBytes(std::string_view bytes)
{
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = utf8Length(bytes.substr(i));
        if (length == 0)
            appendUtf8(out, kReplacement);
        else
            out.append(bytes, i, length);
        i += std::max<std::size_t>(length, 1);
    }
    return out;
}

std::string meantText(std::string_view written)
{
    std::string out;
    out.reserve(written.size());
    for (std::size_t i = 0; i < written.size();) {
        if (written[i] != '\\') {
            const std::size_t length = utf8Length(written.substr(i));
            if (length == 0)
                appendUtf8(out, kReplacement);
            else
                out.append(written, i, length);
            i += std::max<std::size_t>(length, 1);
            continue;
        }
        const char c = i + 1 < written.size() ? written[i + 1] : '\\';
        i += 2;
        switch (c) {
        case 'n':
            out += '\n';
            break;
        case 't':
            out += '\t';
            break;
        case 'r':
            out += '\r';
            break;
        case 'b':
            out += '\b';
            break;
        case 'f':
            out += '\f';
            break;
        case 'u': {
            std::optional<std::uint32_t> code = i <= written.size() ? hexCode(written.substr(i)) : std::nullopt;
            if (!code) {
                appendUtf8(out, kReplacement);
                break;
            }
            i += 4;
            if (*code >= 0xD800 && *code < 0xDC00 && written.substr(std::min(i, written.size())).starts_with("\\u")) {
                const std::optional<std::uint32_t> low = hexCode(written.substr(i + 2));
                if (low && *low >= 0xDC00 && *low < 0xE000) {
                    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
                    i += 6;
                }
            }
            appendUtf8(out, *code >= 0xD800 && *code < 0xE000 ? kReplacement : *code);
            break;
        }
        default: {
            const std::size_t length = utf8Length(std::string_view(&c, 1));
            if (length == 1)
                out += c;
            else
                --i; // a character of several bytes, taken by the next round
        }
        }
    }
    return out;
}

std::optional<std::int64_t> microsecondsAsNs(std::string_view written)
{
    if (const std::optional<std::int64_t> plain = plainMicrosecondsAsNs(written))
        return plain;
    constexpr int kNsDigits = 3;
    std::string_view text = withoutQuotes(written);
    const bool isNegative = text.starts_with('-');
    if (isNegative || text.starts_with('+'))
        text.remove_prefix(1);
    int exponent = 0;
    if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
        std::string_view digits = text.substr(e + 1);
        if (digits.starts_with('+'))
            digits.remove_prefix(1);
        const auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (error != std::errc() || after != digits.data() + digits.size() || exponent > 40 || exponent < -400)
            return std::nullopt;
        text = text.substr(0, e);
    }
    const std::size_t point = std::min(text.find('.'), text.size());
    const auto whole = static_cast<int>(point);
    // Digits left of this place count as whole nanoseconds, the first right of it rounds.
    const int places = whole + exponent + kNsDigits;
    std::int64_t ns = 0;
    int place = 0;
    bool hasDigits = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '.') {
            if (i != point)
                return std::nullopt;
            continue;
        }
        if (c < '0' || c > '9')
            return std::nullopt;
        hasDigits = true;
        if (place < places) {
            ns = ns * 10 + (c - '0');
            if (ns > kMostTraceNs)
                return std::nullopt;
        } else if (place == places && c >= '5') {
            ++ns;
        }
        ++place;
    }
    if (!hasDigits)
        return std::nullopt;
    for (; place < places && ns != 0; ++place) {
        ns *= 10;
        if (ns > kMostTraceNs)
            return std::nullopt;
    }
    return isNegative ? -ns : ns;
}

std::optional<std::int64_t> wholeNumber(std::string_view written)
{
    const std::string_view text = withoutQuotes(written);
    std::int64_t number = 0;
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || after != text.data() + text.size())
        return std::nullopt;
    return number;
}

} // namespace sim
