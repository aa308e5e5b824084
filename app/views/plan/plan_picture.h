// What a search for layouts has found, as it is drawn: a cell for each tp and pp, the best layouts, the others that were
// simulated. Plain data.
#pragma once

#include "app/views/common/table.h"
#include "sim/planner/planner.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// What is known of the layouts with one tp and one pp.
enum class PlanCellKind : std::uint8_t {
    none,   ///< no grid of so many GPUs has them
    winner, ///< the first has them
    tie,    ///< the best with them cannot be told from the first
    slower, ///< the best with them that was simulated
    floor,  ///< cut: nothing with them can be faster than `leastSeconds`
    open,   ///< not looked at to the end, or not yet
    memory, ///< nothing with them fits
    rule    ///< nothing with them is legal
};

struct PlanCell {
    int tp = 1, pp = 1;
    PlanCellKind kind = PlanCellKind::none;
    std::optional<sim::PlannedLayout> best; ///< that was simulated
    bool isProved = false;                  ///< nothing with them is better than `best`
    double margin = 0;                      ///< of best, else of the floor: what it takes beyond the first, as a share of that
    double leastSeconds = 0;                ///< 0: not known
    std::string reason;                     ///< with the numbers, and the grid that it is of
    int grids = 0;                          ///< with these two
};

/// The scenario as it is, beside what was found.
struct PlanMine {
    int tp = 1, pp = 1;
    double paceSeconds = 0; ///< of its own step, or where the batch is free of PlanAnswer::paceBatch sequences
    double peakGib = 0;
};

class PlanPicture {
public:
    PlanPicture() = default;
    PlanPicture(std::shared_ptr<const sim::PlanAnswer>, sim::PlanObjective, double gpuGib);

    bool isEmpty() const { return m_cells.empty(); }
    const sim::PlanAnswer& answer() const { return *m_answer; } ///< only where it is not empty
    bool byHeadroom() const { return m_objective == sim::PlanObjective::headroom; }
    double gpuGib() const { return m_gpuGib; }
    const std::vector<int>& tps() const { return m_tps; } ///< ascending
    const std::vector<int>& pps() const { return m_pps; }
    const std::vector<PlanCell>& cells() const { return m_cells; } ///< [pp][tp]
    const PlanCell* cell(int tp, int pp) const;
    /// Of all that were simulated, each once, the first of all first.
    const std::vector<sim::PlannedLayout>& layouts() const { return m_layouts; }
    bool isOnFrontier(const sim::PlannedLayout&) const;
    /// A cell that was searched by itself.
    void setCell(int tp, int pp, const sim::PlanAnswer&);
    /// How much more than the first it takes, as a share: step time, or memory where that is made least.
    double marginOf(const sim::PlannedLayout&) const;
    /// The scenario, where it has as many GPUs: marked in map and scatter.
    void setMine(std::optional<PlanMine> mine) { m_mine = mine; }
    const std::optional<PlanMine>& mine() const { return m_mine; }
    std::string mineText() const; ///< "3.37 s", "3.37 s for 64 sequences"
    bool isMine(const PlanCell& cell) const { return m_mine && m_mine->tp == cell.tp && m_mine->pp == cell.pp; }
    /// Of a GPU for an hour, in the user's money; 0: not told. `ofRun`: GPU hours are those of all tokens, else of a step.
    void setPrice(double ofAGpuHour, bool ofRun)
    {
        m_price = ofAGpuHour;
        m_costsRun = ofRun;
    }
    /// "costs 12.40 a step", "costs 1,234,000 for all tokens"; empty without a price.
    std::string costText(const sim::PlannedLayout&) const;
    /// "only 1.2 GiB of 80 left" where that is less than a twentieth; else empty.
    std::string tightText(const sim::PlannedLayout&) const;
    /// "1.30 s" of its step; where the batch is free "1.30 s for 128 sequences (1.22 s a step)".
    std::string paceText(const sim::PlannedLayout&) const;
    int paceBatch() const { return m_answer ? m_answer->paceBatch : 0; } ///< sequences whose time it is; 0: that of a step
    /// What of its step goes to that, for as many tokens as the other layouts'.
    static std::int64_t paceNs(const sim::PlannedLayout&, sim::StepPart);
    /// "takes 1.30 s, 300 ms more than the first: exposed tp +300 ms": the largest parts first; they add up
    /// as far as the largest is written.
    std::string differenceText(const sim::PlannedLayout&) const;

private:
    double keyOf(const sim::PlannedLayout& layout) const { return byHeadroom() ? layout.peakMemoryGib : layout.paceSeconds(); }
    bool tellsMore(const sim::RejectedGrid&, const sim::RejectedGrid& than) const;
    static void reject(PlanCell&, const sim::RejectedGrid&); ///< it has what became of the grid
    void fillCell(PlanCell&) const;

    std::shared_ptr<const sim::PlanAnswer> m_answer;
    sim::PlanObjective m_objective = sim::PlanObjective::time;
    double m_gpuGib = 0, m_price = 0;
    bool m_costsRun = false;
    std::optional<PlanMine> m_mine;
    std::vector<int> m_tps, m_pps;
    std::vector<PlanCell> m_cells;
    std::vector<sim::PlannedLayout> m_layouts;
};

/// "tp 8 · pp 4 · dp 2 · 1F1B · micro-batch 1 · ZeRO 1": in the words of the form, what of it a person reads first.
std::string layoutText(const sim::PlannedLayout&);
/// Of each, what not all of them have: "ZeRO 1 · sequence parallel", "no ZeRO". Of one that is alone, its grid.
std::vector<std::string> tellingTexts(const std::vector<sim::PlannedLayout>&);
/// What all of them have: "tp 8 · pp 4 · dp 2 · 1F1B · micro-batch 1"; each part of it, in that order.
std::vector<std::string> sharedTexts(const std::vector<sim::PlannedLayout>&);
/// What is not so in `first`: "tp 4 · pp 8 · dp 2 · DualPipeV · no ZeRO"; where nothing is that a person reads, its grid.
std::string differingText(const sim::PlannedLayout&, const sim::PlannedLayout& first);
/// "+12.3 %", "tie", "winner", "does not fit".
std::string marginText(const PlanPicture&, const PlanCell&);
std::string marginPercent(double share, int decimals);     ///< "+12.3 %", "−0.4 %"
std::string cellText(const PlanPicture&, const PlanCell&); ///< one line for a screen reader
/// A row for each cell.
Table planTable(const PlanPicture&);

} // namespace app
