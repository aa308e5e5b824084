#include "live/stream/history.h"

#include "live/stream/pack.h"
#include "sim/mesh/mesh.h"
#include "sim/scenario/scenario.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <random>
#include <unistd.h>
#include <utility>

namespace live {
namespace {

std::string randomId()
{
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) {
        char digits[9];
        std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(random()));
        id += digits;
    }
    return id;
}

std::string hostName()
{
    char name[HOST_NAME_MAX + 1] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool isBefore(const StepSummary& summary, int number)
{
    return summary.step < number;
}

std::size_t bytesOf(const Block& block)
{
    return sizeof(Block) + block.bytes.capacity();
}

} // namespace

const char* runStatusName(RunStatus status)
{
    constexpr std::array<const char*, 6> kNames = {"starting", "running", "paused", "finished", "stopped", "failed"};
    return kNames[static_cast<std::size_t>(status)];
}

RunDescription describeHere()
{
    RunDescription run;
    run.runId = randomId();
    run.host = hostName();
    run.processId = ::getpid();
    run.startedNs = nowNs();
    run.startedUnixNs =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return run;
}

RunDescription describeRun(const sim::Scenario& scenario, const sim::Mesh& mesh, std::string scenarioJson)
{
    RunDescription run = describeHere();
    run.name = scenario.name;
    run.scenarioJson = std::move(scenarioJson);
    run.worldSize = mesh.worldSize();
    for (int rank = 0; rank < run.worldSize; ++rank) {
        const sim::Coordinates where = mesh.coordinates(rank);
        run.rankNames.push_back("rank " + std::to_string(rank) + " (dp" + std::to_string(where.dp) + " pp" +
                                std::to_string(where.pp) + " cp" + std::to_string(where.cp) + " tp" + std::to_string(where.tp) +
                                ")");
    }
    for (int i = 0; i < sim::kProcessGroupCount; ++i) {
        const auto kind = static_cast<sim::ProcessGroup>(i);
        run.groupSizes[std::string(sim::processGroupName(kind))] = mesh.groupSize(kind);
    }
    run.groupSizes["world"] = run.worldSize;
    if (scenario.layout.dpShard != 0 && scenario.layout.dpShard != scenario.layout.dp * scenario.layout.cp)
        run.groupSizes.erase("dp_cp"); // hybrid sharding gives this name to its smaller groups too
    return run;
}

int commOf(SpanTrack track)
{
    switch (track) {
    case SpanTrack::actions:
    case SpanTrack::compute:
    case SpanTrack::gpuKernels:
        return -1;
    case SpanTrack::tp:
        return 0;
    case SpanTrack::cp:
        return 1;
    case SpanTrack::ep:
        return 2;
    case SpanTrack::sendForward:
    case SpanTrack::sendBackward:
    case SpanTrack::receive:
        return 3;
    case SpanTrack::dp:
        return 4;
    }
    return -1;
}

void SpanSums::add(const SpanRecord& span)
{
    ++spans;
    if (span.track == SpanTrack::compute) {
        computeNs += span.endNs - span.startNs;
        computeCpuNs += span.cpuNs > 0 ? span.cpuNs : span.endNs - span.startNs;
    } else if (const int comm = commOf(span.track); comm >= 0) {
        const std::int64_t ready = std::clamp(span.readyNs, span.startNs, span.endNs);
        waitNs[static_cast<std::size_t>(comm)] += ready - span.startNs;
        transferNs[static_cast<std::size_t>(comm)] += span.endNs - ready;
        bytes[static_cast<std::size_t>(comm)] += span.bytes;
    }
}

void RunHistory::add(std::shared_ptr<const Block> block)
{
    blockBytes += bytesOf(*block);
    blockRecords += block->count;
    blocks.push_back(std::move(block));
}

std::uint64_t RunHistory::trim(const HistoryLimits& limits)
{
    std::uint64_t forgotten = 0;
    while (blocks.size() > 1 && (blocks.front()->lastStep <= std::int64_t{blocks.back()->lastStep} - limits.steps ||
                                 blockBytes > limits.bytes || blockRecords > limits.records)) {
        const Block& oldest = *blocks.front();
        blockBytes -= bytesOf(oldest);
        blockRecords -= oldest.count;
        if (oldest.content == Block::Content::spans)
            forgotten += oldest.count;
        blocks.pop_front();
    }
    if (steps.size() > limits.summaries) // in pieces, so that the cost of moving the rest is shared by many steps
        steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() - limits.summaries * 7 / 8));
    return forgotten;
}

StepSummary& RunHistory::step(int number)
{
    auto place = steps.end();
    if (!steps.empty() && steps.back().step >= number)
        place = std::lower_bound(steps.begin(), steps.end(), number, isBefore);
    if (place == steps.end() || place->step != number) {
        place = steps.emplace(place);
        place->step = number;
    }
    return *place;
}

const StepSummary* RunHistory::find(int number) const
{
    const auto place = std::lower_bound(steps.begin(), steps.end(), number, isBefore);
    return place != steps.end() && place->step == number ? &*place : nullptr;
}

RunHistory::StepRange RunHistory::stepsWithSpans() const
{
    StepRange range;
    for (const auto& block : blocks) {
        if (block->content != Block::Content::spans)
            continue;
        const bool isFirst = range.last < range.first;
        range.first = isFirst ? block->firstStep : std::min(range.first, block->firstStep);
        range.last = isFirst ? block->lastStep : std::max(range.last, block->lastStep);
    }
    return range;
}

std::vector<RankSpan> RunHistory::spans(StepRange range) const
{
    std::vector<RankSpan> all;
    for (const auto& block : blocks) {
        if (block->content != Block::Content::spans || block->lastStep < range.first || block->firstStep > range.last)
            continue;
        const std::size_t before = all.size();
        unpackSpans(block->bytes, {description.worldSize, kinds.size()}, all);
        if (block->firstStep < range.first || block->lastStep > range.last)
            all.erase(
                std::remove_if(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(),
                               [&](const RankSpan& span) { return span.span.step < range.first || span.span.step > range.last; }),
                all.end());
    }
    return all;
}

std::vector<RankMemory> RunHistory::memory() const
{
    std::vector<RankMemory> all;
    for (const auto& block : blocks)
        if (block->content == Block::Content::memory)
            unpackMemory(block->bytes, {description.worldSize, kinds.size()}, all);
    return all;
}

} // namespace live
