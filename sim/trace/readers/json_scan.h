// Walking over JSON that may be damaged, and is never held as a whole: what a strict parser refuses (a raw control character in a
// name, bytes that are no UTF-8, an end in the middle) must cost one event, not the file.
#pragma once

#include "sim/trace/readers/byte_source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class Scan : std::uint8_t {
    done,
    more, ///< the text ends before it is over
    bad   ///< no JSON
};

/// A window on a text, moved forwards only.
class TextWindow {
public:
    /// `size`: bytes to hold at least, where the text has them.
    TextWindow(ByteSource& source, std::size_t size) : m_source(source), m_size(size) {}
    const char* at = nullptr; ///< where the reader stands
    const char* end() const { return m_text.data() + m_filled; }
    /// Place of a byte in the whole text.
    std::int64_t byteOf(const char* place) const { return m_first + (place - m_text.data()); }
    /// Drops what lies before `at` and reads on. False at the end of the text: nothing was added.
    bool advance();
    std::int64_t bytesRead() const { return m_first + static_cast<std::int64_t>(m_filled); }

private:
    ByteSource& m_source;
    std::size_t m_size;
    std::vector<char> m_text;
    std::size_t m_filled = 0;
    std::int64_t m_first = 0; ///< place of m_text[0] in the whole text
};

/// How a string ends: at the next quote that is not escaped, or (for texts with unescaped quotes) at one that is followed by , :
/// } or ].
enum class Quotes : std::uint8_t { strict, guessed };

inline void skipSpace(const char*& at, const char* end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        ++at;
}
/// `at` stands behind the opening quote, then behind the closing one; `text` is what lies between, as written.
Scan scanString(const char*& at, const char* end, std::string_view& text, Quotes = Quotes::strict);
/// Any value. `text` is all of it, with its quotes or brackets.
Scan scanValue(const char*& at, const char* end, std::string_view& text, Quotes = Quotes::strict);

/// Whether brackets lie in one another deeper than `most`. Values that deep are not parsed: copying and writing them out would
/// overflow the stack.
bool isNestedDeeper(std::string_view text, std::size_t most);
inline constexpr std::size_t kMostJsonDepth = 64; ///< no profiler's metadata comes near

/// What a string as written means: escapes resolved, bytes that are no UTF-8 replaced by U+FFFD, so that it can be shown and
/// written.
std::string meantText(std::string_view written);
/// Bytes of any sort, without escapes, as UTF-8: what is none is replaced by U+FFFD.
std::string meantBytes(std::string_view bytes);
/// Microseconds as written ("4458677009853.422", also in quotes, also "1.5e3") in ns, never through a double; digits beyond the
/// nanosecond round half up. Empty where it is no number or beyond ±kMostTraceNs.
std::optional<std::int64_t> microsecondsAsNs(std::string_view written);
/// A whole number as written, also in quotes.
std::optional<std::int64_t> wholeNumber(std::string_view written);

} // namespace sim
