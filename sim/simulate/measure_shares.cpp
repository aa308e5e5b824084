#include "sim/simulate/action_class.h"
#include "sim/simulate/class_walk.h"
#include "sim/simulate/measure.h"

namespace sim {
namespace {

/// From the end of a pass's first kernel to its last: what comes before waits for other stages, and what comes behind is for
/// them.
struct Inside {
    std::size_t first = 0, last = 0; ///< ops
    StreamMask streams = 0;          ///< that they lie on or wait for
};

Inside insideOf(const Pass& pass)
{
    const auto isKernel = [](const Op& op) { return op.stream == Stream::compute; };
    const auto first = std::find_if(pass.ops.begin(), pass.ops.end(), isKernel);
    const auto last = std::find_if(pass.ops.rbegin(), pass.ops.rend(), isKernel).base();
    if (first == pass.ops.end())
        return {};
    Inside inside{.first = asIndex(first + 1 - pass.ops.begin()), .last = asIndex(last - pass.ops.begin())};
    for (std::size_t i = inside.first; i < inside.last; ++i)
        inside.streams |= static_cast<StreamMask>(pass.ops[i].waits | maskOf(pass.ops[i].stream));
    return inside;
}

/// What a rank did inside a pass when it last ran it alone: all that it waited for began and ended there. Most micro-batches take
/// the same times, to the nanosecond, and need not be looked at op by op.
struct LastRun {
    bool isThere = false;
    std::size_t place = 0;                ///< of its first op
    std::int64_t fromNs = 0, lastsNs = 0; ///< from the end of the kernel before
    TimeShares shares;
};

/// Each of these times so much after that of before. Some at once, which a compiler makes vectors of.
bool isLaterBy(const std::int64_t* now, const std::int64_t* before, std::size_t count, std::int64_t laterNs)
{
    constexpr std::size_t kAtOnce = 16;
    std::size_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce) {
        std::int64_t differs = 0;
        for (std::size_t k = 0; k < kAtOnce; ++k)
            differs |= (now[i + k] - before[i + k]) ^ laterNs;
        if (differs != 0)
            return false;
    }
    for (; i < count; ++i)
        if (now[i] - before[i] != laterNs)
            return false;
    return true;
}

bool hasSameTimes(const EngineResult& times, const LastRun& run, std::size_t place, std::int64_t fromNs, std::size_t count)
{
    const auto isSame = [&](const TimeColumn& ns) {
        return isLaterBy(ns.data() + place, ns.data() + run.place, count, fromNs - run.fromNs);
    };
    return run.isThere && isSame(times.opStartNs) && isSame(times.opEndNs);
}

void add(TimeShares& to, const TimeShares& shares)
{
    for (std::int64_t TimeShares::*const of :
         {&TimeShares::busyNs, &TimeShares::recomputationNs, &TimeShares::optimizerNs, &TimeShares::gemmNs,
          &TimeShares::attentionNs, &TimeShares::exposedHostNs, &TimeShares::launchNs, &TimeShares::expertWaitNs})
        to.*of += shares.*of;
    for (const Dimension dimension : kDimensions)
        to.exposedNs[dimension] += shares.exposedNs[dimension];
}

} // namespace

TimeShares measureShares(const Program& program, const RankClasses& classes, const PricedProgram& prices,
                         const EngineResult& result, int c)
{
    TimeShares shares;
    TimeShares* counted = &shares;
    ClassWalk walk(
        program, classes, prices, result, c,
        [&counted](const Op& op, const OpShape& shape, std::int64_t ns, std::int64_t beyondMeanNs) {
            counted->expertWaitNs += beyondMeanNs;
            ns -= beyondMeanNs;
            counted->busyNs += ns;
            if (op.purpose == OpPurpose::recompute)
                counted->recomputationNs += ns;
            else if (op.purpose == OpPurpose::optimizer)
                counted->optimizerNs += ns;
            else if (isAttention(shape))
                counted->attentionNs += ns;
            else if (shape.kernel != KernelKind::memoryBound)
                counted->gemmNs += ns;
        },
        [&counted](std::optional<Stream> stream, std::uint16_t, std::int64_t begin, std::int64_t end) {
            const auto dimension = stream ? dimensionOf(*stream) : std::nullopt;
            (dimension ? counted->exposedNs[*dimension] : counted->exposedHostNs) += end - begin;
            if (!stream)
                counted->launchNs += end - begin;
        });
    std::vector<std::optional<Inside>> insides(program.passes.size());
    std::vector<LastRun> lastRuns(program.passes.size());
    for (const Step& step : walk.steps()) {
        const Pass& pass = program.passes[step.pass];
        if (!insides[step.pass])
            insides[step.pass] = insideOf(pass);
        const Inside& inside = *insides[step.pass];
        LastRun& last = lastRuns[step.pass];
        walk.begin(step);
        walk.goTo(inside.first);
        if (inside.first < inside.last && walk.isQuiet(inside.streams) && !walk.isStretchedUntil(inside.last)) {
            const std::int64_t fromNs = walk.computedUntilNs();
            if (!hasSameTimes(result, last, walk.place(), fromNs, inside.last - inside.first)) {
                last = {.place = walk.place(), .fromNs = fromNs};
                counted = &last.shares;
                walk.goTo(inside.last);
                counted = &shares;
                last.lastsNs = walk.computedUntilNs() - fromNs;
                last.isThere = walk.isQuiet(inside.streams);
            } else {
                walk.skipTo(inside.last, fromNs + last.lastsNs);
            }
            add(shares, last.shares);
        }
        walk.goTo(pass.ops.size());
    }
    return shares;
}

} // namespace sim
