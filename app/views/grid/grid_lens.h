// What the cells of the rank grid show: a lens reads one value of every class of ranks (or every rank of a live run) and gives it
// a tone, a text and a legend. The seven lenses differ in nothing else.
#pragma once

#include "app/step/instant.h"
#include "app/step/known_grid.h"
#include "app/step/measured_rank.h"
#include "app/step/selection.h"
#include "app/step/shown_step.h"
#include "app/views/common/because.h"
#include "app/views/common/theme.h"
#include "sim/simulate/simulation.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

enum class GridLens : std::uint8_t { groups, memory, busy, sent, bubble, straggler, now };
inline constexpr int kGridLensCount = static_cast<int>(GridLens::now) + 1;
const char* gridLensName(GridLens);    ///< "Memory"
const char* gridLensMeaning(GridLens); ///< a sentence

/// What a rank of a live run holds, and what it did last.
struct RankNow {
    std::int64_t bytes = 0, peakBytes = 0;
    std::string doing; ///< "F3"; may be empty
};

/// What has to be computed from a whole step. Each part when it is first asked for.
class StepUse {
public:
    explicit StepUse(SimulationPtr simulation) : m_simulation(std::move(simulation)) {}
    const std::vector<sim::TimeShares>& times(); ///< [class]
    const std::vector<double>& sentBytes();      ///< [class] that leave a rank; O(ops, ranks)
    double stepNs() const { return m_simulation->metrics().stepTimeSeconds * 1e9; }

private:
    SimulationPtr m_simulation;
    std::vector<sim::TimeShares> m_times;
    std::vector<double> m_sentBytes;
};

/// Where a lens reads.
struct LensSources {
    const sim::Simulation& simulation;
    StepUse& use;
    const Instants* instants = nullptr;          ///< nullptr: there is no trace
    const std::vector<int>* processOf = nullptr; ///< [rank] of the trace, -1: none
    const std::vector<RankNow>* live = nullptr;  ///< [rank]; nullptr: as predicted
    /// [rank] of a recorded run; nullptr: as predicted
    const std::vector<MeasuredRank>* measured = nullptr;
    std::int64_t cursorNs = 0;
    ClassMask classes = kAllClasses;
};

struct GridReading {
    static constexpr std::uint8_t kNothing = 0;                                         ///< no rank here
    static constexpr std::uint8_t kLeast = 1, kFull = 250;                              ///< a ramp's ends
    static constexpr std::uint8_t kOver = 251;                                          ///< beyond what there is
    static constexpr std::uint8_t kWaits = 1 + sim::kOpClassCount, kAside = kWaits + 1; ///< of lens now, after the op classes

    GridLens lens = GridLens::memory;
    bool byRank = false; ///< a unit is a rank; else a class
    bool isLive = false;
    bool isMeasured = false;              ///< of a recorded run; values are NaN where nothing was recorded
    bool areDevicesKnown = true;          ///< false: of a recording of hosts alone, which tells of no GPU
    KnownGrid known;                      ///< of a recording: how much of the grid
    std::string missing;                  ///< why a recording tells nothing through this lens; empty where it does
    bool isBegin = false, isOver = false; ///< of lens now: the time cursor stands at an end of the step
    std::vector<double> values;           ///< [unit] bytes or shares, as the lens has it; empty for groups and now
    std::vector<std::uint8_t> tones;      ///< [unit]
    double least = 0, most = 0;           ///< of the values
    double full = 0;                      ///< the value at the ramp's end
    std::vector<std::optional<Doing>> doing, communicating; ///< [unit] of lens now
    std::vector<std::string> didLast;                       ///< [rank] of a live run: "F3"
    const Instants* instants = nullptr;

    bool namesGpus() const { return areDevicesKnown && known.areNodesKnown; }
    bool hasRamp() const { return lens != GridLens::groups && lens != GridLens::now && missing.empty(); }
    std::size_t unitOf(const sim::Simulation&, int rank) const;
    std::string placeOf(const sim::Simulation&, int rank) const; ///< "dp 1 · tp 0", or that it is not known
    /// In the cell, longest first; may be empty.
    std::vector<std::string> cellTexts(std::size_t unit) const;
    /// For names, tooltips and the line below: "busy 71.2 % of the step"; empty for groups.
    std::string sentence(std::size_t unit) const;
};
GridReading readLens(GridLens, const LensSources&);
/// Why a cell reads what the lens says of a rank; of lenses without a number what the rank holds.
Becauses becauseOfCell(const SimulationPtr&, GridLens, int rank);

/// Fills and text colours of all tones; dim 1 is the canvas.
struct LensColors {
    std::array<Color, 256> fill{}, text{};
    LensColors(const Theme&, const GridReading&, float dim);
};

struct LensLegend {
    std::string title, shortTitle;
    std::string low, high;                                      ///< at the ends of the ramp
    std::vector<double> marks;                                  ///< shares of the ramp: least and most
    bool warns = false;                                         ///< the title says that something is wrong
    std::vector<std::pair<std::uint8_t, std::string>> swatches; ///< tone and name, where there is no ramp
};
LensLegend legendOf(const GridReading&);

} // namespace app
