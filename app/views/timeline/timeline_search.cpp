#include "app/views/timeline/timeline_search.h"

#include "app/step/instant.h"
#include "app/views/common/labels.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace app {
namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.remove_suffix(1);
    return text;
}

/// A text that ends in a number, in two: "0f3" is "0f" and 3. The number is -1 where there is none.
std::pair<std::string_view, int> splitNumber(std::string_view text)
{
    constexpr std::size_t kMostDigits = 8;
    std::size_t at = text.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1])) != 0)
        --at;
    if (at == text.size() || text.size() - at > kMostDigits)
        return {text, -1};
    return {trimmed(text.substr(0, at)), std::stoi(std::string(text.substr(at)))};
}

} // namespace

SpanSet::SpanSet(const std::vector<SpanRef>& spans)
{
    for (const SpanRef& span : spans)
        m_keys.push_back(keyOf(span.track, span.span));
    std::sort(m_keys.begin(), m_keys.end());
}

bool SpanSet::contains(std::uint32_t track, std::size_t span) const
{
    return std::binary_search(m_keys.begin(), m_keys.end(), keyOf(track, span));
}

SpanSearch::SpanSearch(const TimelineModel& model, std::string_view wanted)
    : m_trace(&model.trace()), m_text(trimmed(wanted)), m_wholeKind(model.trace().kinds.size(), 0),
      m_withOne(model.trace().kinds.size(), 0)
{
    const std::string text = lower(m_text);
    if (text.empty())
        return;
    const auto [name, number] = splitNumber(text);
    const bool anyKind = name == "#" || name == "mb" || name == "micro-batch" || name == "microbatch";
    m_microbatch = number;
    for (std::size_t k = 0; k < m_trace->kinds.size(); ++k) {
        const sim::SpanKind& kind = m_trace->kinds[k];
        const std::string kindName = lower(kind.name);
        const bool isOfClass = kind.group != sim::kUnknownUse && lower(sim::opClassName(kind.opClass)) == text;
        m_wholeKind[k] = kindName.find(text) != std::string::npos || lower(model.kindName(k)).find(text) != std::string::npos ||
                                 isOfClass || lower(model.className(kind.opClass)) == text
                             ? 1
                             : 0;
        const bool called = name == kindName || (!name.empty() && name == lower(opClassLetter(kind.opClass)));
        m_withOne[k] = number >= 0 && (anyKind || called) ? 1 : 0;
    }
    for (std::uint32_t track = 0; track < m_trace->tracks.size(); ++track)
        for (std::uint32_t span = 0; span < m_trace->tracks[track].size(); ++span)
            if (matches(track, span))
                m_found.push_back({track, span});
    std::sort(m_found.begin(), m_found.end(), [this](SpanRef a, SpanRef b) { return startsBefore(a, b); });
    m_spans = SpanSet(m_found);
}

std::string SpanSearch::summary(std::optional<SpanRef> selected) const
{
    const std::string quoted = "“" + m_text + "”";
    if (m_found.empty())
        return "nothing is called " + quoted;
    const auto count = countText(static_cast<std::int64_t>(m_found.size()));
    if (selected)
        if (const auto at = std::find(m_found.begin(), m_found.end(), *selected); at != m_found.end())
            return countText(at - m_found.begin() + 1) + " of " + count + " called " + quoted;
    return count + (m_found.size() == 1 ? " span is called " : " spans are called ") + quoted;
}

bool SpanSearch::startsBefore(SpanRef a, SpanRef b) const
{
    const auto startNs = [this](SpanRef ref) { return m_trace->tracks[ref.track].startNs[ref.span]; };
    return std::tuple(startNs(a), a.track, a.span) < std::tuple(startNs(b), b.track, b.span);
}

bool SpanSearch::matches(std::uint32_t track, std::size_t span) const
{
    const sim::Track& spans = m_trace->tracks[track];
    const std::uint32_t kind = spans.kind[span];
    return m_wholeKind[kind] != 0 ||
           (m_withOne[kind] != 0 && spans.microbatch[span] >= 0 && spans.microbatch[span] / m_trace->slices == m_microbatch);
}

std::optional<std::size_t> SpanSearch::nextTo(std::optional<SpanRef> span, bool backwards) const
{
    if (m_found.empty())
        return std::nullopt;
    const std::size_t last = m_found.size() - 1;
    if (!span)
        return backwards ? last : 0;
    const auto less = [this](SpanRef a, SpanRef b) { return startsBefore(a, b); };
    if (backwards) {
        const auto from = std::lower_bound(m_found.begin(), m_found.end(), *span, less);
        return from == m_found.begin() ? last : static_cast<std::size_t>(from - m_found.begin()) - 1;
    }
    const auto after = std::upper_bound(m_found.begin(), m_found.end(), *span, less);
    return after == m_found.end() ? 0 : static_cast<std::size_t>(after - m_found.begin());
}

} // namespace app
