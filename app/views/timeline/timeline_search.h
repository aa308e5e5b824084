// Spans that are lit, and spans found by what they are called: "flash" finds kernels, "0F3" and "B12" actions, "mb 3" or "#3" all
// of a micro-batch.
#pragma once

#include "app/views/timeline/timeline_model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// Spans that are lit while all others step back, ascending.
class SpanSet {
public:
    SpanSet() = default;
    explicit SpanSet(const std::vector<SpanRef>&);
    bool contains(std::uint32_t track, std::size_t span) const;
    /// f(span) for those of a track in [begin, end).
    template <typename F>
    void forSpans(std::uint32_t track, std::size_t begin, std::size_t end, F f) const
    {
        auto key = std::lower_bound(m_keys.begin(), m_keys.end(), keyOf(track, begin));
        for (; key != m_keys.end() && *key < keyOf(track, end); ++key)
            f(static_cast<std::size_t>(*key & 0xFFFFFFFFU));
    }

private:
    static std::uint64_t keyOf(std::uint32_t track, std::size_t span) { return static_cast<std::uint64_t>(track) << 32U | span; }
    std::vector<std::uint64_t> m_keys;
};

class SpanSearch {
public:
    /// O(spans). An empty text finds nothing.
    SpanSearch(const TimelineModel&, std::string_view text);

    const std::string& text() const { return m_text; }
    const std::vector<SpanRef>& found() const { return m_found; } ///< by start, then track
    const SpanSet& spans() const { return m_spans; }              ///< the same
    /// "3 of 12 called “flash”", where one of them is selected.
    std::string summary(std::optional<SpanRef> selected) const;
    bool matches(std::uint32_t track, std::size_t span) const;
    /// The place in found() after (or before) a span, going round at the ends; of none, the first (the last).
    std::optional<std::size_t> nextTo(std::optional<SpanRef>, bool backwards) const;

private:
    bool startsBefore(SpanRef, SpanRef) const;

    const sim::Trace* m_trace;
    std::string m_text;
    std::vector<char> m_wholeKind; ///< [kind]: every span of it matches
    std::vector<char> m_withOne;   ///< [kind]: those of micro-batch m_microbatch do
    int m_microbatch = -1;
    std::vector<SpanRef> m_found;
    SpanSet m_spans;
};

} // namespace app
