// A trace, prepared for drawing: rows, lanes, names, colours of its kinds, levels of detail. Made once a trace.
#pragma once

#include "app/step/class_names.h"
#include "app/step/selection.h"
#include "app/step/shown_step.h"
#include "app/views/common/counter_levels.h"
#include "app/views/common/theme.h"
#include "app/views/timeline/exposed_waits.h"
#include "app/views/timeline/span_bands.h"
#include "app/views/timeline/track_levels.h"
#include "sim/analysis/wait_chain.h"
#include "sim/simulate/memory.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/busy_mipmap.h"
#include "sim/trace/trace.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace app {

/// One process of the trace.
struct TimelineRow {
    std::vector<std::string> names;    ///< longest first: "pp 3 · 1,024 ranks", "pp 3"
    std::vector<std::string> details;  ///< longest first: "44.1 % busy · 54.8 % exposed · 1.1 % bubble · 42.1 GiB"
    std::vector<std::uint32_t> tracks; ///< its lanes, those of communication last
    int thinLanes = 0;                 ///< of communication, where something computes on another
    std::optional<std::size_t> memory; ///< index of its counter
    std::uint32_t work = 0;            ///< the lane of kernels; where they are not known, the first: passes with their transfers
    /// Computing, of the step: as the simulation knows it. Of other traces each instant once in which any lane computes, however
    /// it is drawn; where no lane does, what the lane of work holds without waiting and communication.
    double busyShare = 0;
    std::int64_t endNs = 0; ///< of the last span
    /// Share of the step during which only a transfer runs, as the simulation knows it; nothing of other traces. What is left of
    /// the step is bubble.
    std::optional<double> exposedShare;
    double bubbleShare() const { return std::max(0.0, 1 - busyShare - exposedShare.value_or(0)); }
};

/// A stretch in which a row computes nothing, and what went on meanwhile that it waited for.
struct TimelineWait {
    struct Part {
        int row = 0;
        TimeRange time;
        bool operator==(const Part&) const = default;
    };
    Part gap;
    std::vector<Part> links; ///< back from the gap's end
    std::variant<sim::WaitChain, sim::RecordedWait> found;
};

/// Fill and label of spans of one kind: its class's colour, every second micro-batch a shade apart.
struct KindColors {
    Color even, odd, text;
};

class TimelineModel {
public:
    explicit TimelineModel(const ShownStep&);

    const sim::Trace& trace() const { return *m_trace; }
    const sim::Simulation* simulation() const { return m_simulation.get(); }
    const SimulationPtr& step() const { return m_simulation; }
    const TracePtr& tracePtr() const { return m_trace; }
    bool isSimulated(int process) const; ///< what it did was predicted, by step()
    const std::vector<TimelineRow>& rows() const { return m_rows; }
    const std::vector<std::uint8_t>& classOfKind() const { return m_classOfKind; } ///< op class of each kind, close together
    const std::vector<sim::OpClass>& classesPresent() const { return m_classes; }
    /// What a kind of spans is called on screen (sim/text/spoken_name.h).
    const std::string& kindName(std::size_t kind) const { return m_spokenNames[kind]; }
    /// "forward"; "waiting" where the class holds nothing else.
    const std::string& className(sim::OpClass opClass) const { return m_classNames[opClass]; }
    const ClassNames& classNames() const { return m_classNames; }
    bool othersWait() const { return m_classNames.othersWait(); }   ///< spans of class other are waits, all of them
    std::int64_t memoryScaleBytes() const { return m_memoryScale; } ///< highest of all counters

    const sim::BusyMipmap& busy(std::uint32_t track) const { return *m_busy[track]; }
    const TrackLevels& levels(std::uint32_t track) const { return m_levels[track]; }
    /// Of memory. Of a simulated step to the kernel, whatever the trace's detail; then made when asked for: O(ops of a rank).
    const CounterLevels& counter(std::size_t index) const;
    /// Is the row's lane of work one of kernels? Else its spans are passes, in which a rank may wait for its transfers.
    bool knowsKernels(int row) const;
    /// Transfers its rank waits for; nullptr where lanes of their own show them, and of rows that were not simulated.
    const ExposedWaits* exposed(int row) const { return m_exposed[static_cast<std::size_t>(row)].get(); }
    /// Why a rank computes nothing for a while: the longest wait of any of the rows that lies in a stretch of time or goes on
    /// when it begins. Nothing where they compute all along, and where nobody knows: whyNoWait().
    std::optional<TimelineWait> longestWaitIn(const std::vector<int>& rows, std::int64_t fromNs, std::int64_t toNs) const;
    /// The next wait of a row that begins at a time or later, or, going back, the last one that ends there or earlier; of those
    /// of at least leastNs.
    std::optional<TimelineWait> waitBeside(int row, std::int64_t ns, bool backwards, std::int64_t leastNs) const;
    /// What a rank that begins something waited for most of a stretch before it, with its time: "the all-reduce of gradients in
    /// dp, 2 ms". Empty where it waited for nothing, and where nobody knows.
    std::string awaitedText(int row, std::int64_t fromNs, std::int64_t beginsNs) const;
    /// When what came last from a pass was there for a rank that begins something; later it waited for collectives, copies and
    /// its host. Nothing where no pass kept it waiting, and where nobody knows.
    std::optional<std::int64_t> inputThereNs(int row, std::int64_t fromNs, std::int64_t beginsNs) const;
    /// For how long, for what, and what it costs, line by line.
    std::string waitText(const TimelineWait&) const;
    /// What a recorded row lacks to say why it waits; empty where nothing is to be said.
    std::string whyNoWait(int row) const;
    /// Time of all rows' lanes of work, each counted as often as it has ranks, as shares of the range.
    std::array<double, sim::kOpClassCount> shares(std::int64_t beginNs, std::int64_t endNs) const;
    /// The same of some rows, for each stretch between two edges.
    std::vector<std::array<double, sim::kOpClassCount>> shares(const std::vector<int>& rows,
                                                               std::span<const std::int64_t> edgesNs) const;
    const std::vector<int>& allRows() const { return m_allRows; }

    int rowOf(std::uint32_t track) const { return m_trace->tracks[track].process; }
    /// The row that stands for a rank, -1 if none.
    int rowOfRank(int rank) const;
    /// The rank a row is about: the selected one if the row stands for it, else the first.
    int rankOf(int row, const Selection&) const;

    sim::OpClass opClass(std::uint32_t track, std::size_t span) const;
    bool computes(SpanRef) const; ///< it is no transfer, and no wait
    std::int64_t endNs(SpanRef) const;
    /// "F12", or what fits of "attn.qkv"; longest first.
    std::vector<std::string> spanLabels(std::uint32_t track, std::size_t span) const;
    /// As long as any that is shown, with digits of one width: "00", "0.0".
    const std::string& widestMicrobatch() const { return m_widestMicrobatch; }
    /// Where another row is told about, whose it is: "F12", "F12 of pp 3". `row` -1: in any case, where there are several rows.
    std::string nameBeside(SpanRef, int row) const;
    std::string describe(SpanRef) const; ///< several lines, for a tooltip
    std::vector<sim::Flow> flowsAt(SpanRef) const;
    /// Span of the track that runs at a time, or the nearest within `toleranceNs`.
    std::optional<std::uint32_t> spanAt(std::uint32_t track, double timeNs, double toleranceNs) const;

    std::vector<KindColors> colors(const Theme&) const;
    /// Of a rank's stages the first is plain, the last has the whole band along its top: 0 to 1.
    float bandOf(std::uint32_t kind) const
    {
        return m_chunks > 1 ? static_cast<float>(m_chunkOfKind[kind]) / static_cast<float>(m_chunks - 1) : 0;
    }
    /// What the band says.
    SpanBands bands() const;

private:
    /// What a simulated rank holds, to the kernel.
    struct HeldByKernel {
        sim::Counter counter;
        CounterLevels levels;
        explicit HeldByKernel(const sim::MemoryCurves&);
        HeldByKernel(const HeldByKernel&) = delete;
        HeldByKernel& operator=(const HeldByKernel&) = delete;
    };

    void makeRows();
    void sortFlows();
    void findExposed();
    void findClasses();
    void measureRow(TimelineRow&, int process) const;
    void nameRow(TimelineRow&, int process) const;
    int pipelineRankOf(int row) const;
    std::string placeOf(int row) const;
    void findChunks();

    std::shared_ptr<const sim::Trace> m_trace;
    std::shared_ptr<const sim::Simulation> m_simulation;
    ClassNames m_classNames;
    std::vector<TimelineRow> m_rows;
    std::vector<int> m_allRows;                           ///< 0, 1, …
    std::vector<int> m_rowsOfPipelineRank;                ///< how many; empty without a pipeline
    std::vector<std::unique_ptr<sim::BusyMipmap>> m_busy; ///< [track]
    std::vector<TrackLevels> m_levels;                    ///< [track]
    std::vector<CounterLevels> m_counters;
    mutable std::vector<std::unique_ptr<HeldByKernel>> m_heldByKernel; ///< [counter]
    sim::WaitChains& simulatedWaits() const;
    std::optional<sim::WaitChain> chainBefore(int row, std::int64_t fromNs, std::int64_t beginsNs) const;

    mutable std::unique_ptr<sim::WaitChains> m_waits; ///< made when first asked for
    RecordedWaitsPtr m_recordedWaits;
    std::string m_whyNoWaits;
    std::vector<std::unique_ptr<ExposedWaits>> m_exposed; ///< [row]
    std::vector<sim::OpClass> m_classes;
    std::vector<std::string> m_spokenNames; ///< [kind]
    std::vector<std::uint8_t> m_classOfKind;
    std::vector<int> m_chunkOfKind;           ///< place of the kind's stage among those of its rank: 0, 1, …
    std::vector<std::uint32_t> m_flowsBySpan; ///< 2 · flow + (1 if it arrives), by track and span
    std::string m_widestMicrobatch;
    int m_chunks = 1;
    std::int64_t m_memoryScale = 0;
};

} // namespace app
