#include "sim/engine/quiet_runs.h"

#include "sim/index.h"

#include <algorithm>
#include <bit>

namespace sim {
namespace {

/// Looking for a run costs about as much as a few ops.
constexpr std::size_t kShortest = 4;

std::int64_t later(std::int64_t ns, std::int64_t byNs)
{
    return ns == OpLaunch::kNever || byNs == OpLaunch::kNever ? OpLaunch::kNever : ns + byNs;
}

/// The clock's own way, of one of two moments that an op waits for: the other may be any time before.
void append(QuietRun::Times& times, const Op& op, const OpLaunch& launch, std::int64_t durationNs)
{
    std::int64_t ready = OpLaunch::kNever;
    for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
        ready = std::max(ready, times.tails[asIndex(std::countr_zero(left))]);
    std::int64_t begin = ready;
    if (launch.asks() && op.stream == Stream::compute)
        times.hostBeganNs = std::max(times.hostBeganNs, later(ready, -launch.askedNs));
    else if (launch.asks() && launch.startedNs != OpLaunch::kNever)
        begin = later(ready, launch.startedNs - launch.askedNs);
    begin = std::max(begin, later(times.hostBeganNs, launch.startedNs));
    times.starts.push_back(begin);
    times.tails[asIndex(op.stream)] = later(begin, durationNs);
}

void append(QuietRun& run, const Op& op, const OpLaunch& launch, std::int64_t durationNs)
{
    const auto needed = static_cast<StreamMask>(op.waits | maskOf(op.stream));
    append(run.ofStreams, op, launch, durationNs);
    append(run.ofHost, op, launch, durationNs);
    run.durations.push_back(durationNs);
    if (const std::int64_t start = run.ofHost.starts.back(); start != OpLaunch::kNever)
        run.hostLeadNs = std::max(run.hostLeadNs, start - run.ofStreams.starts.back());
    run.streams |= needed;
    run.used |= maskOf(op.stream);
    if (op.kind == OpKind::collective)
        run.roles |= RoleMask{1} << asIndex(op.group);
    (op.buffer ? run.buffers : run.activations) += op.allocBytes;
    if (run.activations + run.buffers > run.peakActivations + run.peakBuffers) {
        run.peakActivations = run.activations;
        run.peakBuffers = run.buffers;
        run.peakAt = run.size() - 1;
    }
    (op.buffer ? run.buffers : run.activations) -= op.freeBytes;
}

} // namespace

FreeStreams freeStreams(const Pass& pass)
{
    constexpr std::ptrdiff_t kOnNone = -2, kOnPassesBefore = -1;
    std::array<std::ptrdiff_t, kStreamCount> kernelBefore; // [stream]: the last kernel that its last op depends on
    kernelBefore.fill(kOnNone);
    kernelBefore[asIndex(Stream::compute)] = kOnPassesBefore;
    std::vector<std::ptrdiff_t> freeFrom(pass.ops.size()); // the first op that this one can pass, or itself
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        std::ptrdiff_t kernel = kOnNone;
        for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
            kernel = std::max(kernel, kernelBefore[asIndex(std::countr_zero(left))]);
        const auto here = static_cast<std::ptrdiff_t>(i);
        kernelBefore[asIndex(op.stream)] = op.stream == Stream::compute ? here : kernel;
        // A message comes whether it is awaited or not.
        freeFrom[i] = op.stream == Stream::compute || op.kind == OpKind::receive ? here : kernel + 1;
    }
    FreeStreams free{.behind = std::vector<StreamMask>(pass.ops.size()), .atStart = 0, .lastKernel = pass.ops.size()};
    std::array<std::ptrdiff_t, kStreamCount> from; // [stream]
    from.fill(static_cast<std::ptrdiff_t>(pass.ops.size()));
    for (std::size_t i = pass.ops.size(); i-- > 0;) {
        for (std::size_t s = 0; s < from.size(); ++s)
            if (from[s] <= static_cast<std::ptrdiff_t>(i))
                free.behind[i] |= maskOf(static_cast<Stream>(s));
        const Stream stream = pass.ops[i].stream;
        std::ptrdiff_t& of = from[asIndex(stream)];
        of = std::min(of, freeFrom[i]);
        free.atStart |= freeFrom[i] == kOnNone + 1 ? maskOf(stream) : StreamMask{0};
        if (stream == Stream::compute && free.lastKernel == pass.ops.size())
            free.lastKernel = i;
    }
    return free;
}

QuietRuns::QuietRuns(const Program& program, const PricedProgram& prices, std::size_t geometry, RoleMask ownAffairs)
    : m_program(program), m_prices(prices), m_durations(prices.durations[geometry]), m_ownAffairs(ownAffairs),
      m_runs(program.passes.size())
{
}

bool QuietRuns::isQuiet(const Op& op) const
{
    return op.kind == OpKind::compute || op.kind == OpKind::wait || op.kind == OpKind::copy ||
           (op.kind == OpKind::collective && (m_ownAffairs >> asIndex(op.group) & 1U) != 0);
}

void QuietRuns::find(std::uint32_t pass)
{
    const std::vector<Op>& ops = m_program.passes[pass].ops;
    Runs& of = m_runs[pass];
    of.known = true;
    of.at.assign(ops.size(), -1);
    const FreeStreams free = freeStreams(m_program.passes[pass]);
    const PassLaunches* const launches = m_prices.launchesOf(pass);
    for (std::size_t first = 0; first < ops.size();) {
        QuietRun run;
        run.ofHost.tails.fill(OpLaunch::kNever);
        run.ofHost.hostBeganNs = 0;
        std::size_t end = first;
        for (; end < ops.size() && isQuiet(ops[end]); ++end) {
            const Op& op = ops[end];
            if (end > first && ((op.waits | maskOf(op.stream)) & run.used) == 0)
                break; // it could begin before the first
            if (end > first && op.stream == Stream::compute && (run.used & maskOf(Stream::compute)) == 0)
                break; // what is communicated first may begin before the kernels of the pass before have ended; kernels cannot
            append(run, op, launches == nullptr ? OpLaunch{} : launches->ops[end],
                   op.kind == OpKind::wait ? 0 : m_durations[pass][end]);
        }
        if (run.size() >= kShortest) {
            run.lastKernel = run.size();
            for (std::size_t i = first; i < end; ++i) {
                if (ops[i].kind == OpKind::compute)
                    run.passing |= free.behind[i];
                if (ops[i].stream == Stream::compute)
                    run.lastKernel = i - first;
            }
            of.at[first] = static_cast<std::int32_t>(of.runs.size());
            of.runs.push_back(std::move(run));
        }
        first = std::max(end, first + 1);
    }
}

} // namespace sim
