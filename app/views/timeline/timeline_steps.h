// A schedule told action by action, in the order in which they start.
#pragma once

#include "app/views/timeline/schedule_phases.h"
#include "app/views/timeline/timeline_model.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

class TimelineSteps {
public:
    explicit TimelineSteps(const TimelineModel&);

    std::size_t count() const { return m_order.size(); }
    std::size_t current() const { return m_current; }
    void goTo(std::size_t step);
    /// To what has started last at that moment; before the first action to that. False: it is there already, or, of actions that
    /// start together, at one of those.
    bool goToMoment(std::int64_t ns);
    /// The action that starts now; nothing if the trace has none.
    std::optional<SpanRef> now() const;
    /// As long as the shortest quarter of the actions at most: what has to be wide enough to be read.
    std::int64_t shortActionNs() const { return m_shortActionNs; }
    /// Spans of a track that have started.
    std::size_t revealed(std::uint32_t track) const { return m_revealed[track]; }
    bool isRevealed(SpanRef ref) const { return ref.span < m_revealed[ref.track]; }

    /// What starts now and why not earlier: "2F3 starts as soon as 1F3 is there".
    std::string happens() const;
    struct Story {
        std::vector<std::string> labels; ///< of warm-up, steady state, cool-down
        std::optional<Phase> phase;      ///< nothing before the first action and from the optimizer on
        std::string sentence;
    };
    /// Where a row stands now.
    Story storyOf(int row) const;

private:
    const TimelineModel& m_model;
    std::vector<SpanRef> m_order;
    std::vector<std::size_t> m_revealed; ///< [track]
    std::optional<WarmUpRule> m_rule;
    std::size_t m_current = 0;
    std::int64_t m_shortActionNs = 0;
};

} // namespace app
