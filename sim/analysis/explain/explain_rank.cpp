#include "sim/analysis/explain/explain_rank.h"
#include "sim/simulate/purpose_name.h"

#include "sim/analysis/explain/explain_traffic.h"
#include "sim/analysis/explain/explainer.h"
#include "sim/analysis/peers_busy.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/index.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {
namespace {

constexpr double kSecondsPerNs = 1e-9;

double seconds(std::int64_t ns)
{
    return static_cast<double>(ns) * kSecondsPerNs;
}

/// What the time of some kernels is told in.
struct KernelTimes {
    std::int64_t gemm = 0, attention = 0, other = 0, recomputation = 0, optimizer = 0;
};

Formula sumOf(Account& account, const KernelTimes& times)
{
    std::vector<Formula> parts;
    const auto add = [&](const char* symbol, std::int64_t ns, const char* meaning) {
        if (ns > 0)
            parts.push_back(account.term(symbol, seconds(ns), Unit::seconds, meaning));
    };
    add("t_gemm", times.gemm, "matrix products");
    add("t_attn", times.attention, "attention");
    add("t_mem", times.other, "kernels bound by memory: norms, activations, residuals, permutations");
    add("t_r", times.recomputation, "recomputation, by the clock");
    add("t_opt", times.optimizer, "the optimizer");
    return Formula::sum(std::move(parts));
}

std::string rankName(int rank)
{
    return "rank " + numberText(rank, Unit::count);
}

class RankExplainer {
public:
    RankExplainer(const Simulation& simulation, int rank)
        : m_simulation(simulation), m_rank(rank), m_times(simulation.timeOfClass(simulation.classOf(rank))),
          m_step(simulation.metrics().stepTimeSeconds)
    {
    }
    Explanation busy() const
    {
        Account account("Busy: kernels run on " + rankName(m_rank), "f_busy", share(m_times.busyNs), Unit::fraction);
        const Formula time = account.term(busyTime());
        return account.close(time / stepTerm(account),
                             "Of the step. Communication that nothing hides is not busy, though kernels of it may run." +
                                 expertsText(),
                             kSimulated, show());
    }
    Explanation exposed() const
    {
        const bool waitsForHost = m_times.exposedHostNs > 0;
        Account account((waitsForHost ? "Exposed communication and waiting for the host of " : "Exposed communication of ") +
                            rankName(m_rank),
                        "f_comm", share(m_times.waitingNs()), Unit::fraction);
        const Formula time = account.term(exposedTime());
        return account.close(time / stepTerm(account),
                             waitsForHost ? "Of the step: the next kernel waits for a transfer, or for the host's launch."
                                          : "Of the step: a transfer runs, and the next kernel waits for it.",
                             kSimulated, show());
    }
    Explanation bubble() const
    {
        const double value = 1 - share(m_times.busyNs) - share(m_times.waitingNs());
        Account account("Bubble of " + rankName(m_rank), "f_bubble", std::max(0.0, value), Unit::fraction);
        Account waits("what is left of the step", "t_bubble", std::max(0.0, value) * m_step, Unit::seconds);
        const Formula busyAndHeldUp = stepTerm(waits) - waits.term(busyTime());
        Explanation left = waits.close(busyAndHeldUp - waits.term(exposedTime()), "", "");
        const Formula time = account.term(std::move(left));
        return account.close(time / stepTerm(account),
                             "Of the step: it waits, without a kernel, and without a transfer or a launch that holds one up." +
                                 expertsText(),
                             "Narayanan et al. 2021, section 2.2", show());
    }
    Explanation againstPeers() const
    {
        const Mesh& mesh = m_simulation.mesh();
        const int place = mesh.coordinates(m_rank).pp;
        PeersBusy all;
        for (int c = 0; c < m_simulation.classCount(); ++c)
            if (mesh.coordinates(m_simulation.representative(c)).pp == place)
                all.add(static_cast<double>(m_simulation.timeOfClass(c).busyNs), m_simulation.classSize(c));
        const auto own = static_cast<double>(m_times.busyNs);
        const PeersBusy peers = all.without(own);
        const double mean = peers.meanNs();
        Account account("Busy time of " + rankName(m_rank) + " against its peers", "x", all.against(own), Unit::fraction);
        if (mean <= 0)
            return account.close({}, peers.ranks > 0 ? "None of them runs a kernel." : "No other rank has the same work.", "",
                                 show());
        const auto meanOfPeers = [&] {
            Account ofPeers("mean busy time of the other ranks with the same work", "t_peers", mean * kSecondsPerNs,
                            Unit::seconds);
            const Formula sum =
                ofPeers.term("t_all", peers.sumNs * kSecondsPerNs, Unit::seconds, "busy time of all of them; simulated");
            return ofPeers.close(sum / ofPeers.term("r", peers.ranks, Unit::count, "other ranks of its place in the pipeline"),
                                 "", "");
        };
        Account difference("how much longer its kernels run", "d", (own - mean) * kSecondsPerNs, Unit::seconds);
        const Formula time = difference.term(busyTime());
        const Formula more = account.term(difference.close(time - difference.term(meanOfPeers()), "", ""));
        return account.close(more / account.term(meanOfPeers()), "Above 0 it is slower than the ranks that have the same work.",
                             kSimulated, show());
    }
    Explanation sent() const
    {
        return TrafficExplainer(m_simulation)
            .ofFlow("Sent by " + rankName(m_rank), Traffic(m_simulation).sentBy(m_rank).byDimension());
    }

private:
    double share(std::int64_t ns) const { return seconds(ns) / m_step; }
    /// Where experts get unlike numbers of tokens, what is drawn of a rank is not what is told of it.
    std::string expertsText() const
    {
        return m_times.expertWaitNs == 0 ? std::string()
                                         : " Of a mean rank: in " + percentText(share(m_times.expertWaitNs)) +
                                               " of the step it waits for the rank whose experts have the most tokens, as which "
                                               "the timeline draws every rank.";
    }
    ShowHint show() const { return {.pictures = {"timeline"}, .ranks = {m_rank}}; }
    Formula stepTerm(Account& account) const { return account.term("T", m_step, Unit::seconds, "step time"); }
    Explanation busyTime() const
    {
        Account account("kernels run on it", "t_busy", seconds(m_times.busyNs), Unit::seconds);
        const std::int64_t rest =
            m_times.busyNs - m_times.gemmNs - m_times.attentionNs - m_times.recomputationNs - m_times.optimizerNs;
        return account.close(
            sumOf(account, {m_times.gemmNs, m_times.attentionNs, rest, m_times.recomputationNs, m_times.optimizerNs}),
            "Simulated, by what kernels are for.", kSimulated);
    }
    Explanation exposedTime() const
    {
        Account account("transfers and launches that hold it up", "t_comm", seconds(m_times.waitingNs()), Unit::seconds);
        std::vector<Formula> parts;
        for (const Dimension dimension : kDimensions)
            if (m_times.exposedNs[dimension] > 0)
                parts.push_back(account.term("t_" + purposeName(m_simulation, dimension), seconds(m_times.exposedNs[dimension]),
                                             Unit::seconds, collectivesText(m_simulation, dimension)));
        if (m_times.exposedHostNs > 0)
            parts.push_back(account.term("t_host", seconds(m_times.exposedHostNs), Unit::seconds,
                                         m_simulation.scenario().training.offload.isOn()
                                             ? "the host's launches and work, and what goes to it or comes from it"
                                             : "the host's launches"));
        return account.close(Formula::sum(std::move(parts)), "Simulated; where several fill a gap, it counts once.", kSimulated);
    }

    const Simulation& m_simulation;
    const int m_rank;
    const TimeShares m_times;
    const double m_step;
};

// Spans -----------------------------------------------------------------------------------------------------------------------

class SpanExplainer {
public:
    SpanExplainer(const Simulation& simulation, const Trace& trace, std::uint32_t track, std::uint32_t span)
        : m_simulation(simulation), m_trace(trace), m_trackIndex(track), m_span(span), m_track(trace.tracks[track]),
          m_kind(trace.kinds[m_track.kind[span]]), m_begin(m_track.startNs[span]), m_end(m_begin + m_track.durationNs[span]),
          m_microbatch(m_track.microbatch[span])
    {
    }
    Explanation explain() const
    {
        const double time = seconds(m_end - m_begin);
        Account account(name(), "T", time, Unit::seconds);
        ShowHint show{.pictures = {"timeline"}, .ranks = {m_trace.processes[asIndex(m_track.process)].rank}};
        show.range = TimeSpan{m_begin, std::max(m_end, m_begin + 1)};
        if (m_track.role == TrackRole::actions)
            return action(std::move(account), std::move(show));
        if (m_kind.flops > 0 && time > 0)
            return kernel(std::move(account), time, std::move(show));
        if (m_kind.bytes > 0 && time > 0)
            return moved(std::move(account), time, std::move(show));
        const Formula end = account.term("t_end", seconds(m_end), Unit::seconds, "its end in the step");
        return account.close(end - account.term("t_begin", seconds(m_begin), Unit::seconds, "its beginning"), "Simulated.",
                             kSimulated, std::move(show));
    }

private:
    std::string name() const
    {
        if (m_track.role == TrackRole::actions)
            return "Time of " + spanName(m_trace, m_trackIndex, m_span, m_simulation.schedule().virtualStages > 1);
        return "Time of " + spokenOp(m_kind.name) +
               (m_microbatch >= 0 ? ", micro-batch " + m_trace.microbatchText(m_microbatch) : "");
    }

    Explanation kernel(Account account, double time, ShowHint show) const
    {
        const Scenario& scenario = m_simulation.scenario();
        const double peak = scenario.cluster.gpu.peakTflops.at(scenario.training.precision) * 1e12;
        const Formula flops = account.term("F", m_kind.flops, Unit::flops, "FLOPs, from the shapes of the layer");
        const Formula rate = account.term("P", peak, Unit::flopRate, "dense peak of the precision");
        const Formula reached =
            account.term("u", m_kind.flops / time / peak, Unit::fraction, "of it reached: tiles, waves, short sums, memory");
        return account.close(flops / Formula::product({rate, reached}),
                             "A roofline over the kernel's shape; constants are those of the GPU type and of the software.",
                             "Williams et al. 2009 (Roofline)", std::move(show));
    }

    /// A transfer over links, or a kernel over memory.
    Explanation moved(Account account, double time, ShowHint show) const
    {
        const bool isTransfer = isCommunication(m_kind.opClass);
        const double bytes = static_cast<double>(m_kind.bytes);
        const Formula amount =
            account.term("M", bytes, Unit::bytes, isTransfer ? "the tensor" : "memory that it reads and writes");
        const Formula rate =
            account.term("R", bytes / time, Unit::byteRate,
                         isTransfer ? "reached, with the wait for the last member and for who shares the links"
                                    : "reached of " + numberText(m_simulation.scenario().cluster.gpu.memoryBandwidthGBs * 1e9,
                                                                 Unit::byteRate));
        return account.close(amount / rate,
                             isTransfer ? "Begins when this member is ready and ends for all together."
                                        : "Bound by memory: a roofline over its bytes.",
                             isTransfer ? "Thakur et al. 2005: latency and bandwidth" : "Williams et al. 2009 (Roofline)",
                             std::move(show));
    }

    /// Its kernels one after the other, and what they wait for.
    Explanation action(Account account, ShowHint show) const
    {
        KernelTimes times;
        std::int64_t sum = 0;
        const int c = m_track.process;
        const Program& program = m_simulation.program();
        const EngineResult& result = m_simulation.times();
        std::size_t place = result.firstOp[asIndex(c)];
        for (const Step& step : program.ranks[asIndex(m_simulation.classes().pipelineRank[asIndex(c)])].steps) {
            const Pass& pass = program.passes[step.pass];
            for (std::size_t i = 0; i < pass.ops.size(); ++i, ++place) {
                const std::int64_t begin = result.opStartNs[place], end = result.opEndNs[place];
                if (pass.ops[i].kind != OpKind::compute || begin < m_begin || end > m_end)
                    continue;
                const OpPurpose purpose = pass.ops[i].purpose;
                const OpShape& shape = pass.shapes[i];
                (purpose == OpPurpose::recompute           ? times.recomputation
                 : purpose == OpPurpose::optimizer         ? times.optimizer
                 : isAttention(shape)                      ? times.attention
                 : shape.kernel != KernelKind::memoryBound ? times.gemm
                                                           : times.other) += end - begin;
                sum += end - begin;
            }
        }
        Formula all = sumOf(account, times);
        if (const std::int64_t waits = m_end - m_begin - sum; waits > 0)
            all = std::move(all) + account.term("t_wait", seconds(waits), Unit::seconds,
                                                "between kernels: transfers that the next one needs, and its launch");
        return account.close(std::move(all), "From its first kernel to the end of its last, one after the other on the GPU.",
                             kSimulated, std::move(show));
    }

    const Simulation& m_simulation;
    const Trace& m_trace;
    std::uint32_t m_trackIndex, m_span;
    const Track& m_track;
    const SpanKind& m_kind;
    const std::int64_t m_begin, m_end;
    const std::int32_t m_microbatch;
};

} // namespace

Explanation explain(const Simulation& simulation, RankNumber number, int rank)
{
    const RankExplainer of(simulation, rank);
    switch (number) {
    case RankNumber::busy:
        return of.busy();
    case RankNumber::exposed:
        return of.exposed();
    case RankNumber::bubble:
        return of.bubble();
    case RankNumber::againstPeers:
        return of.againstPeers();
    case RankNumber::sent:
        break;
    }
    return of.sent();
}

/// Means over the ranks of each pipeline coordinate; coordinates have equally many.
Explanation explain(const Simulation& simulation, StepPart part)
{
    const auto& rows = simulation.metrics().perPipelineRank;
    Account account("Of the step: " + partTitle(simulation, part), partSymbol(simulation, part),
                    seconds(simulation.metrics().use[part]), Unit::seconds);
    constexpr std::size_t kMostListed = 16;
    std::vector<Formula> each;
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        sum += seconds(rows[i].use[part]);
        if (rows.size() <= kMostListed)
            each.push_back(account.term("t_" + std::to_string(i), seconds(rows[i].use[part]), Unit::seconds,
                                        "pipeline rank " + std::to_string(i) + "; simulated"));
    }
    if (rows.size() > kMostListed)
        each.push_back(account.term("t_all", sum, Unit::seconds, "all pipeline ranks together; simulated"));
    const Formula count = account.term("p", static_cast<double>(rows.size()), Unit::count, "pipeline ranks");
    const auto dimension = dimensionOfPart(part);
    return account.close(
        Formula::sum(std::move(each)) / count,
        dimension ? "A transfer runs and the next kernel waits for it: " + collectivesText(simulation, *dimension) + "."
        : part == StepPart::bubble ? kBubbleIs
        : part == StepPart::host   ? "What could begin is not launched yet, or waits for what goes to the host or is its work."
        : part == StepPart::recomputation
            ? "Kernels of the forward pass run a second time, counted by the clock; their FLOPs at peak speed take less."
            : "Kernels run.",
        kSimulated, {.pictures = {"timeline"}});
}

Explanation explainDifference(const Explanation& a, const Explanation& b, const std::string& nameOfA, const std::string& nameOfB)
{
    Account account("Difference of " + nameOfB + " to " + nameOfA + ": " + b.name, "d", b.result.value - a.result.value,
                    b.result.unit);
    const auto side = [&](const char* symbol, const Explanation& of) {
        Explanation named = of;
        named.result.symbol = symbol;
        return account.term(std::move(named));
    };
    const Formula after = side("B", b);
    return account.close(after - side("A", a), "", "");
}

Explanation explainSum(std::string name, std::vector<Explanation> parts)
{
    double sum = 0;
    for (const Explanation& part : parts)
        sum += part.result.value;
    Account account(std::move(name), "S", sum, parts.empty() ? Unit::number : parts.front().result.unit);
    std::vector<Formula> terms;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].result.symbol = "s_" + std::to_string(i + 1);
        terms.push_back(account.term(std::move(parts[i])));
    }
    return account.close(Formula::sum(std::move(terms)), "", "");
}

namespace {

int fullestOfStage(const Simulation& simulation, int pipelineRank)
{
    int fullest = -1;
    for (int c = 0; c < simulation.classCount(); ++c)
        if (simulation.classes().pipelineRank[asIndex(c)] == pipelineRank &&
            (fullest < 0 || simulation.memoryOfClass(c).total() > simulation.memoryOfClass(fullest).total()))
            fullest = c;
    return simulation.representative(fullest);
}

} // namespace

Explanation explain(const Simulation& simulation, StageNumber number, int pipelineRank)
{
    if (number == StageNumber::memory)
        return explain(simulation, MetricId::peakMemory, fullestOfStage(simulation, pipelineRank));
    const ByStepPart<std::int64_t>& use = simulation.metrics().perPipelineRank[asIndex(pipelineRank)].use;
    const std::string where = " of pipeline rank " + std::to_string(pipelineRank);
    const ShowHint show{.pictures = {"timeline"}};
    if (number == StageNumber::bubble) {
        Account account("Bubble" + where, "t_bubble", seconds(use[StepPart::bubble]), Unit::seconds);
        const Formula step = account.term("T", simulation.metrics().stepTimeSeconds, Unit::seconds, "step time");
        const Formula busy = account.term("t_busy", seconds(use.busy()), Unit::seconds, "kernels run; mean over its ranks");
        return account.close(
            step - busy - account.term("t_comm", seconds(use.exposed()), Unit::seconds, "transfers hold it up; mean likewise"),
            kBubbleIs, "Narayanan et al. 2021, section 2.2", show);
    }
    const bool busy = number == StageNumber::busy;
    Account account((busy ? "Computing" : "Exposed communication") + where, busy ? "t_busy" : "t_comm",
                    seconds(busy ? use.busy() : use.exposed()), Unit::seconds);
    std::vector<Formula> parts;
    for (const StepPart part : kStepParts)
        if (use[part] != 0 && part != StepPart::bubble && factsOf(part).isWaiting != busy)
            parts.push_back(account.term(factsOf(part).symbol, seconds(use[part]), Unit::seconds,
                                         partTitle(simulation, part) + "; mean over its ranks, simulated"));
    return account.close(Formula::sum(std::move(parts)),
                         busy ? "Kernels run." : "A transfer runs and the next kernel waits for it.", kSimulated, show);
}

Explanation explainSpan(const Simulation& simulation, const Trace& trace, std::uint32_t track, std::uint32_t span)
{
    return SpanExplainer(simulation, trace, track, span).explain();
}

} // namespace sim
