#include "sim/simulate/exposed_transfers.h"

#include "sim/simulate/class_walk.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {
namespace {

/// Of a class of a step that was simulated, all that is exposed.
template <typename Exposed>
void forExposed(const Simulation& simulation, int c, Exposed exposed)
{
    ClassWalk(
        simulation.program(), simulation.classes(), simulation.prices(), simulation.times(), c,
        [](const Op&, const OpShape&, std::int64_t, std::int64_t) {}, std::move(exposed))
        .throughAll();
}

} // namespace

std::vector<ExposedTransfer> exposedTransfers(const Simulation& simulation, int c)
{
    std::vector<ExposedTransfer> out;
    forExposed(simulation, c, [&out](std::optional<Stream> stream, std::uint16_t, std::int64_t begin, std::int64_t end) {
        out.push_back({.beginNs = begin, .endNs = end, .dimension = stream ? dimensionOf(*stream) : std::nullopt});
    });
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.beginNs < b.beginNs; });
    std::size_t kept = 0;
    for (const ExposedTransfer& next : out) // those that touch are told as one
        if (kept > 0 && out[kept - 1].endNs == next.beginNs && out[kept - 1].dimension == next.dimension)
            out[kept - 1].endNs = next.endNs;
        else
            out[kept++] = next;
    out.resize(kept);
    return out;
}

double transferSeconds(const Simulation& simulation, Dimension dimension)
{
    const Program& program = simulation.program();
    const RankClasses& classes = simulation.classes();
    const EngineResult& times = simulation.times();
    CancelPoll poll;
    Wide sum = 0;
    for (int c = 0; c < simulation.classCount(); ++c) {
        std::size_t place = times.firstOp[asIndex(c)];
        TransferTimes transfers(program, classes, simulation.prices(), times, c);
        for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
            const std::vector<Op>& ops = program.passes[step.pass].ops;
            poll(ops.size() + 1);
            for (std::size_t i = 0; i < ops.size(); ++i, ++place)
                if (dimensionOf(ops[i].stream) == dimension)
                    sum += Wide{simulation.classSize(c)} * transfers.ns(step, i, place);
        }
    }
    return static_cast<double>(sum) / simulation.metrics().worldSize * 1e-9;
}

ExposedKinds exposedKinds(const Simulation& simulation)
{
    const std::vector<std::string>& labels = simulation.program().labels;
    std::array<std::vector<Wide>, kStreamCount> sums; // [stream][label]
    for (std::vector<Wide>& ofStream : sums)
        ofStream.resize(labels.size());
    std::vector<char> isHostStep(labels.size(), 0);
    if (simulation.scenario().training.stack.stepMs > 0)
        for (const Pass& pass : simulation.program().passes)
            for (const Op& op : pass.ops)
                if (op.purpose == OpPurpose::optimizer)
                    isHostStep[op.label] = 1;
    Wide ranks = 0, launchesNs = 0, hostStepNs = 0;
    for (int c = 0; c < simulation.classCount(); ++c) {
        const Wide members = simulation.classSize(c);
        ranks += members;
        forExposed(simulation, c, [&](std::optional<Stream> stream, std::uint16_t label, std::int64_t begin, std::int64_t end) {
            (stream                   ? sums[asIndex(*stream)][label]
             : isHostStep[label] != 0 ? hostStepNs
                                      : launchesNs) += members * (end - begin);
        });
    }
    std::vector<CommunicatorRole> roles(labels.size(), CommunicatorRole::none);
    for (const Pass& pass : simulation.program().passes)
        for (const Op& op : pass.ops)
            if (op.kind == OpKind::collective)
                roles[op.label] = op.group;
    const auto seconds = [ranks](Wide ns) { return static_cast<double>(ns) / static_cast<double>(ranks) * 1e-9; };
    const auto kindsOf = [&](const auto& isOfThem, std::vector<ExposedKind> out = {}) {
        for (std::size_t label = 0; label < labels.size(); ++label) {
            Wide sum = 0;
            for (int stream = 0; stream < kStreamCount; ++stream)
                sum += isOfThem(static_cast<Stream>(stream)) ? sums[asIndex(stream)][label] : 0;
            if (sum > 0)
                out.push_back({.op = labels[label],
                               .seconds = seconds(sum),
                               .role = roles[label],
                               .isHostsWork = sums[asIndex(Stream::host)][label] > 0});
        }
        std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
        return out;
    };
    ExposedKinds out;
    for (const Dimension dimension : kDimensions)
        out.ofDimension[dimension] = kindsOf([dimension](Stream stream) { return dimensionOf(stream) == dimension; });
    std::vector<ExposedKind> launches;
    if (launchesNs > 0)
        launches.push_back({.op = kLaunches, .seconds = seconds(launchesNs), .isHostsWork = true});
    if (hostStepNs > 0)
        launches.push_back({.op = kHostStep, .seconds = seconds(hostStepNs), .isHostsWork = true});
    out.ofHost = kindsOf([](Stream stream) { return (maskOf(stream) & kHostStreams) != 0; }, std::move(launches));
    return out;
}

} // namespace sim
