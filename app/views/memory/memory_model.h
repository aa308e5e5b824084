// What the memory picture shows: a row for each pipeline rank, and what a row's ranks hold over time. No canvas.
#pragma once

#include "app/step/selection.h"
#include "app/step/shown_step.h"
#include "app/views/common/counter_levels.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// Ranks that hold the same: those of one pipeline rank, or of a part of them where they differ.
struct MemoryRow {
    int pipelineRank = 0, classIndex = 0; ///< one of its classes
    std::vector<int> ranks;               ///< ascending
    std::vector<std::string> names;       ///< longest first
    sim::MemoryBreakdown peak;
};

/// What a row's ranks hold over time, ready to ask for any stretch of it.
class HeldOverTime {
public:
    explicit HeldOverTime(sim::MemoryCurves);
    HeldOverTime(const HeldOverTime&) = delete;
    HeldOverTime& operator=(const HeldOverTime&) = delete;

    std::int64_t peakNs() const { return m_curves.timeNs[m_peak]; }
    sim::MemoryBreakdown peak() const { return m_curves.at(m_peak); }
    const sim::MemoryBreakdown& states() const { return m_curves.states; } ///< held from first to last
    /// The fullest moment in [beginNs, endNs).
    sim::MemoryBreakdown fullest(std::int64_t beginNs, std::int64_t endNs) const;

private:
    sim::MemoryCurves m_curves;
    sim::Counter m_sum; ///< of what comes and goes
    CounterLevels m_levels;
    std::size_t m_peak = 0;
};

class MemoryModel : public PictureModel {
public:
    MemoryModel(SimulationPtr, const TracePtr&);

    const sim::Simulation& simulation() const { return *m_simulation; }
    const SimulationPtr& step() const { return m_simulation; }
    const std::vector<MemoryRow>& rows() const { return m_rows; }
    std::int64_t capacity() const { return m_capacity; } ///< bytes of a GPU
    std::int64_t endNs() const { return m_endNs; }
    int fullestRow() const { return m_fullest; }
    int rowOfRank(int rank) const;
    /// Of the rank in focus, else the fullest.
    int shownRow(const Selection&) const;
    /// The rank that stands for a row: the selected one if it is of the row, else its first.
    int rankOf(int row, const Selection&) const;
    /// The same, if it holds at any time what is drawn of the row; else one that does.
    int explainedRank(int row, const Selection&) const;

    const HeldOverTime& held(int row) const; ///< made when asked for
    /// At a time; the last two asked for are remembered.
    const sim::MemoryContents& contents(int row, std::int64_t atNs) const;

private:
    void nameRow(MemoryRow&) const;

    SimulationPtr m_simulation;
    std::vector<MemoryRow> m_rows;
    std::vector<int> m_rowOfClass;
    std::int64_t m_capacity = 0, m_endNs = 0;
    int m_fullest = 0;
    mutable std::vector<std::unique_ptr<HeldOverTime>> m_held; ///< [row]
    struct Remembered {
        int row = -1;
        std::int64_t atNs = 0;
        std::unique_ptr<sim::MemoryContents> contents;
    };
    mutable Remembered m_last, m_beforeLast;
};

} // namespace app
