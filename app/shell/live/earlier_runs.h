// The losses of runs that were watched before, to be laid beneath those of the next: only runs that learn the same have losses
// that can be compared.
#pragma once

#include "app/views/live/curves_view.h"

#include <deque>
#include <string>
#include <vector>

namespace app {

/// What a job of this resolved scenario learns, whatever its layout: its model, what a step learns from, seed and optimizer.
/// Empty for what is no scenario, which is comparable with nothing.
std::string learnedBy(const std::string& scenarioJson);

class EarlierRuns {
public:
    struct Run {
        std::string name, learns;
        std::vector<CurvePoint> points;
    };
    /// The last few are kept. Nothing of a run without points.
    void keep(Run);
    /// The last that learnt the same; null: none.
    const Run* comparableWith(const std::string& learns) const;

private:
    std::deque<Run> m_runs;
};

} // namespace app
