// A trace with what is computed of it for many frames because it takes longer than one may, each kept for as long as what it
// depends on stays the same.
#pragma once

#include "app/views/timeline/range_statistics.h"
#include "app/views/timeline/row_placement.h"
#include "app/views/timeline/timeline_model.h"
#include "app/views/timeline/timeline_search.h"
#include "sim/analysis/critical_path.h"

namespace app {

/// Shares of equal stretches of time, side by side.
using ShareColumns = std::vector<std::array<double, sim::kOpClassCount>>;

/// What is drawn with, by span kind and by class: pale where the class does not count or other spans are lit.
struct TimelineColors {
    std::vector<KindColors> own, shown; ///< [kind]
    std::array<Color, sim::kOpClassCount> ownFills{}, fills{};
};

class PreparedTrace : public PictureModel {
public:
    struct Path {
        sim::CriticalPath path;
        SpanSet spans;
    };

    explicit PreparedTrace(const ShownStep& step) : m_model(step) {}
    const TimelineModel& model() const { return m_model; }

    /// With a theme that has changed since, forget them first.
    const TimelineColors& colors(const Theme&, ClassMask counting, bool othersLit);
    void forgetColors() { m_colors.reset(); }
    /// See TimelineView.
    void setOpacityOfKinds(std::vector<float>);
    /// All rows over the whole trace, as wide as the area; nothing where that has no height.
    const ShareColumns& overview(Rect area);
    const ShareColumns& strip(const RowPlacement&, std::size_t group, const TimeWindow&);
    const RangeStatistics& statistics(TimeRange, ClassMask counting);
    const Path& criticalPath();
    const SpanSearch& find(const std::string& text);

private:
    template <typename Key, typename Value>
    using Kept = std::optional<std::pair<Key, Value>>;
    /// What is kept if it is of that key, else what is computed now.
    template <typename Key, typename Value, typename Compute>
    static Value& keep(Kept<Key, Value>& kept, const Key& key, Compute compute)
    {
        if (!kept || !(kept->first == key))
            kept.emplace(key, compute());
        return kept->second;
    }

    TimelineColors mixColors(const Theme&, ClassMask counting, bool othersLit) const;
    std::vector<std::int64_t> edges(double beginNs, double endNs, float width) const;
    ShareColumns shares(const std::vector<int>& rows, const std::vector<std::int64_t>& edges) const;

    TimelineModel m_model;
    std::vector<float> m_opacityOfKind;
    Kept<std::pair<ClassMask, bool>, TimelineColors> m_colors;
    Kept<float, ShareColumns> m_overview;                                 ///< by width
    Kept<std::pair<TimeWindow, int>, std::vector<ShareColumns>> m_strips; ///< by window and placement of the rows
    Kept<std::pair<TimeRange, ClassMask>, RangeStatistics> m_statistics;
    std::optional<Path> m_path;
    Kept<std::string, SpanSearch> m_search;
};

} // namespace app
