#include "app/views/tables.h"

#include "app/step/op_selection.h"
#include "app/views/common/op_columns.h"
#include "app/views/timeline/range_statistics.h"
#include "sim/analysis/goodput.h"
#include "sim/cancel.h"
#include "sim/simulate/memory_cap.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace app {
namespace {

using Row = std::vector<std::string>;

/// The shortest text that reads back as the same number, with a point in every language.
std::string text(double value)
{
    std::array<char, 32> out{};
    return {out.data(), std::to_chars(out.data(), out.data() + out.size(), value).ptr};
}

std::string text(std::int64_t value)
{
    return std::to_string(value);
}

std::string text(int value)
{
    return std::to_string(value);
}

/// Nothing where a number means "none".
std::string orEmpty(int value)
{
    return value < 0 ? std::string() : std::to_string(value);
}

Table metricsTable(const TableSource& source)
{
    const sim::Metrics& m = source.simulation.metrics();
    const double capacityGib = source.simulation.scenario().cluster.gpu.memoryGib;
    const std::string attention =
        source.simulation.scenario().training.causal ? "attention halved, as it is causal" : "attention in full";
    Table table{
        {"quantity", "value", "unit", "convention"},
        {{"step time", text(m.stepTimeSeconds), "s", "first action to the end of the optimizer step"},
         {"tokens per second", text(m.tokensPerSecond), "1/s", "whole job"},
         {"tokens per second per GPU", text(m.tokensPerSecondPerGpu), "1/s", ""},
         {"model FLOP rate per GPU", text(m.modelTflopsPerGpu), "TFLOP/s", "attention halved where causal; no recomputation"},
         {"hardware FLOP rate per GPU", text(m.hardwareTflopsPerGpu), "TFLOP/s", "with recomputation"},
         {"MFU", text(m.mfu), "fraction of peak", "PaLM, appendix B, with " + attention},
         {"MFU, full attention", text(m.mfuFullAttention), "fraction of peak",
          "as in PaLM and Megatron-LM's papers; counts work that causal kernels leave out, so it may exceed 1"},
         {"HFU", text(m.hfu), "fraction of peak", "Korthikanti et al. 2022, section 6"},
         {"bubble", text(m.bubbleFraction), "fraction of the step", "mean over ranks"}}};
    for (const sim::Dimension dimension : sim::kDimensions)
        table.rows.push_back({std::string("exposed ") + sim::dimensionName(dimension) + " communication",
                              text(m.exposedComm[dimension]), "fraction of the step", "mean over ranks"});
    table.rows.insert(table.rows.end(),
                      {{"peak memory", text(m.peakMemoryGib), "GiB", "of the fullest rank"},
                       {"memory of a GPU", text(capacityGib), "GiB", ""},
                       {"fits", sim::fitsEverywhere(source.simulation) ? "true" : "false", "",
                        "peak at most the GPU's memory and the file's cap, what is offloaded at most the host's"},
                       {"parameters", text(m.parameters), "1", "of the whole model"},
                       {"ranks", text(m.worldSize), "1", ""}});
    const double said = source.simulation.scenario().training.tokens;
    const sim::WholeRun run = sim::lastingRun(source.simulation, sim::tokensToTell(source.simulation.scenario()));
    if (std::isfinite(run.days)) { // else it practically never ends
        const std::string of = said > 0 ? "of all tokens" : "of a trillion tokens: the scenario does not say how many";
        table.rows.insert(table.rows.end(), {{"whole run", text(run.days), "d", of + ", with what failures cost"},
                                             {"GPU hours", text(run.gpuHours), "h", "of the whole run"}});
        if (const auto energy = run.mostEnergyKwh())
            table.rows.push_back({"energy at most", text(*energy), "kWh", "of the whole run, at the GPUs' full power"});
    }
    return table;
}

Table pipelineTable(const TableSource& source)
{
    Table out{{"pipeline rank", "busy (s)", "bubble (s)", "exposed communication (s)", "waiting for the host (s)",
               "peak memory (bytes)", "peak at (ns)", "parameters"},
              {}};
    const auto& ranks = source.simulation.metrics().perPipelineRank;
    for (std::size_t pp = 0; pp < ranks.size(); ++pp) {
        const sim::PipelineRankMetrics& r = ranks[pp];
        out.rows.push_back({text(static_cast<int>(pp)), text(r.busySeconds), text(r.bubbleSeconds),
                            text(r.commSeconds - r.hostSeconds), text(r.hostSeconds), text(r.memory.total()), text(r.peakAtNs),
                            text(r.parameters)});
    }
    return out;
}

Table memoryTable(const TableSource& source)
{
    const sim::Simulation& simulation = source.simulation;
    Table out{{"rank", "ranks alike", "pipeline rank", "parameters (bytes)", "gradients (bytes)", "optimizer (bytes)",
               "activations (bytes)", "buffers (bytes)", "total (bytes)", "capacity (bytes)"},
              {}};
    constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
    const auto capacity = static_cast<std::int64_t>(simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib);
    for (int c = 0; c < simulation.classCount(); ++c) {
        sim::checkCancelled();
        const sim::MemoryBreakdown m = simulation.memoryOfClass(c);
        const int rank = simulation.representative(c);
        out.rows.push_back({text(rank), text(simulation.classSize(c)), text(simulation.mesh().coordinates(rank).pp),
                            text(m.parameters), text(m.gradients), text(m.optimizer), text(m.activations), text(m.buffers),
                            text(m.total()), text(capacity)});
    }
    return out;
}

Table groupsTable(const TableSource& source)
{
    const sim::Mesh& mesh = source.simulation.mesh();
    Table out{{"group kind", "group", "size", "ranks"}, {}};
    for (int k = 0; k < sim::kProcessGroupCount; ++k) {
        const auto kind = static_cast<sim::ProcessGroup>(k);
        for (int group = 0; group < mesh.groupCount(kind); ++group) {
            sim::checkCancelled();
            std::string members;
            for (const int rank : mesh.members(kind, group))
                members += (members.empty() ? "" : " ") + std::to_string(rank);
            out.rows.push_back(
                {std::string(sim::processGroupName(kind)), text(group), text(mesh.groupSize(kind)), std::move(members)});
        }
    }
    return out;
}

/// What the selection leaves: of its ranks (of the ranks that they are like), in its range, of its classes.
Table spansTable(const TableSource& source)
{
    const sim::Trace& trace = source.trace;
    const Selection& selection = source.selection;
    const std::vector<std::int64_t> ranks = opSelection(&source.simulation, trace, selection).ranks;
    Table out{{"rank", "ranks alike", "track", "span", "class", "stage", "layer", "micro-batch", "start (ns)", "duration (ns)",
               "group", "moved (bytes)", "work (FLOP)"},
              {}};
    for (const sim::Track& track : trace.tracks) {
        sim::checkCancelled();
        if (!ranks.empty() && ranks[static_cast<std::size_t>(track.process)] == 0)
            continue;
        const sim::Process& process = trace.processes[static_cast<std::size_t>(track.process)];
        for (std::size_t i = 0; i < track.size(); ++i) {
            const sim::SpanKind& kind = trace.kinds[track.kind[i]];
            const std::int64_t start = track.startNs[i], end = start + track.durationNs[i];
            const bool inside = !selection.range || (start < selection.range->endNs && end > selection.range->beginNs);
            if (!inside || !selection.shows(kind.opClass))
                continue;
            out.rows.push_back({text(process.rank), text(process.multiplicity), track.name, kind.name,
                                sim::opClassName(kind.opClass), orEmpty(kind.stage), orEmpty(kind.layer),
                                track.microbatch[i] < 0 ? std::string() : trace.microbatchText(track.microbatch[i]), text(start),
                                text(track.durationNs[i]), kind.group, text(kind.bytes), text(kind.flops)});
        }
    }
    return out;
}

Table rangeTable(const TableSource& source)
{
    // The sources outlive the call.
    const auto borrowed = [](const auto& thing) {
        return std::shared_ptr<const std::decay_t<decltype(thing)>>(std::shared_ptr<void>(), &thing);
    };
    const TimelineModel model({borrowed(source.simulation), borrowed(source.trace)});
    const TimeRange range = source.selection.range.value_or(TimeRange{0, source.trace.endNs});
    return tableOf(rangeStatistics(model, range, source.selection.classes), model);
}

Table opsTable(const TableSource& source)
{
    return tableOf(
        sim::opTable(source.trace, sim::OpGrouping::name, opSelection(&source.simulation, source.trace, source.selection)));
}

constexpr std::array kTables{
    TableInfo{"metrics", "Numbers of the step", "one number a row, with its unit and convention", metricsTable},
    TableInfo{"pipeline-ranks", "Pipeline ranks", "where each pipeline rank's time goes", pipelineTable},
    TableInfo{"memory", "Memory at the peak", "what a rank holds; ranks that cannot differ share a row", memoryTable},
    TableInfo{"groups", "Process groups", "every process group and its members", groupsTable},
    TableInfo{"range", "Selected range", "what each row of the timeline does in the selected time range, else in the step",
              rangeTable},
    TableInfo{"ops", "Ops by name", "what ran how often and how long: of the selected ranks, time range and classes, else all",
              opsTable},
    TableInfo{"spans", "Spans", "what ran when: of the selected ranks, time range and classes, else all", spansTable},
};

} // namespace

std::span<const TableInfo> tables()
{
    return kTables;
}

const TableInfo* findTable(std::string_view name)
{
    const auto* found = std::find_if(kTables.begin(), kTables.end(), [&](const TableInfo& t) { return t.name == name; });
    return found == kTables.end() ? nullptr : found;
}

} // namespace app
