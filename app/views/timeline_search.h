// Spans found by what they are called: "flash" finds kernels, "0F3" and "B12" actions, "mb 3" or "#3" all of a micro-batch.
#pragma once

#include "app/views/timeline_model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

class SpanSearch {
public:
    /// O(spans). An empty text finds nothing.
    SpanSearch(const TimelineModel&, std::string_view text);

    const std::string& text() const { return m_text; }
    const std::vector<SpanRef>& found() const { return m_found; } ///< by start, then track
    bool matches(std::uint32_t track, std::size_t span) const;
    /// The place in found() after (or before) a span, going round at the ends; of none, the first (the last).
    std::optional<std::size_t> nextTo(std::optional<SpanRef>, bool backwards) const;

private:
    const sim::Trace* m_trace;
    std::string m_text;
    std::vector<char> m_wholeKind; ///< [kind]: every span of it matches
    std::vector<char> m_withOne;   ///< [kind]: those of micro-batch m_microbatch do
    int m_microbatch = -1;
    std::vector<SpanRef> m_found;
};

} // namespace app
