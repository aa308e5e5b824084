// What plan says on a terminal. From the JSON, so that what is merged prints like what was searched.
#pragma once

#include "sim/answers/answers.h"
#include "sim/planner/planner.h"
#include "sim/planner/robust.h"

#include <iosfwd>
#include <string>

namespace sim::cli {

/// A column of layouts' memory: in GiB, and in MiB where all take less than one.
class MemoryColumn {
public:
    /// `mostGib`: the largest of it; 0 where there is none.
    explicit MemoryColumn(double mostGib) : m_isSmall(mostGib > 0 && mostGib < 1) {}
    const char* name() const { return m_isSmall ? "MiB" : "GiB"; } ///< its heading
    std::string text(double gib) const;                            ///< "66.0"

private:
    bool m_isSmall;
};

void printPlan(const Answer&, std::ostream&);
/// A line on a winner that leaves little memory free, with what keeps more; else empty.
std::string tightRemark(double peakGib, double headroomGib);
/// The sentence of an answer without a layout, with why there is none.
std::string nothingFits(const Answer&);
/// What was tried on the way to the fewest GPUs in time.
void printSizes(const Answer&, std::ostream&);
void printRobust(const RobustChoice&, std::ostream&);
/// `ofPart`: " of part 2 of 3", where the answer is of one.
void printWhy(const Answer&, const std::string& ofPart, std::ostream&);
/// "best 9.802 s, floor 9.363 s", or of bytes where those are made least.
std::string standing(const PlanProgress&);
std::string threeDigits(double);
std::string amount(double);                     ///< of money or GPU hours: "63,300", "12.40"
std::string tokensADay(double tokensPerSecond); ///< "3.21 billion"
/// What hours and cost are of where no run is given: " of a step"; of a free batch " for 64", the sequences of the largest
/// (PlanAnswer::paceBatch).
std::string ofBatch(int paceBatch);
/// Numbers of GPUs that none of the others beats in both, days and GPU hours: "64 GPUs (41.2 days, 63,300 GPU hours)", ...
std::string worthTheirPrice(const Answer& pareto);

} // namespace sim::cli
