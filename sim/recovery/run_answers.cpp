#include "sim/recovery/run_answers.h"

#include "sim/cancel.h"
#include "sim/recovery/run_findings.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

/// What findings are not made of, as it was not recorded: "who comes late and which step takes longer".
std::string untoldText(const Recovered& recovered)
{
    const std::vector<RankEvidence>& ranks = recovered.evidence.ranks;
    std::vector<std::string> untold;
    if (!recovered.clock.isAligned || recovered.meetings.meetings.empty())
        untold.emplace_back("who comes late");
    if (std::count_if(ranks.begin(), ranks.end(), [](const RankEvidence& of) { return !of.work.empty(); }) < 2)
        untold.emplace_back("which rank computes longer");
    if (recovered.steps.areGuessed || recovered.steps.steps.size() < 2)
        untold.emplace_back("which step takes longer");
    std::string text;
    for (std::size_t i = 0; i < untold.size(); ++i)
        text += (i == 0 ? "" : i + 1 == untold.size() ? " and " : ", ") + untold[i];
    return text;
}

/// Where there are no findings.
std::string nothingFoundText(const Recovered& recovered)
{
    const std::vector<RankEvidence>& ranks = recovered.evidence.ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [](const RankEvidence& of) { return !of.work.empty() || !of.comms.empty(); })) {
        if (const std::string why = recovered.evidence.whyNothingLasts(); !why.empty())
            return "what is slow cannot be told: " + why;
        const std::string untold = untoldText(recovered);
        return untold.empty() ? "nothing stands out: no rank, group, stage or step is clearly slower than the others"
                              : "nothing stands out in what was recorded; " + untold + " cannot be told by it";
    }
    if (std::all_of(ranks.begin(), ranks.end(), [](const RankEvidence& of) { return of.progress.empty(); }))
        return "nothing can be told: no kernel of a rank that is known is recorded, and no collective with its times";
    const bool isAllOver = std::all_of(ranks.begin(), ranks.end(), [](const RankEvidence& of) {
        return !of.progress.empty() && std::all_of(of.progress.begin(), of.progress.end(),
                                                   [](const GroupProgress& group) { return group.lastOver >= group.lastAsked; });
    });
    return std::string("only counts are recorded, ") +
           (!isAllOver ? "and they do not tell whether anything stands still"
            : recovered.evidence.missingRanks() > 0
                ? "by which all that " + recovered.evidence.summedRanks() + " asked for is over"
                : "by which each rank has ended all that it asked for") +
           "; when it ended, and who was late, cannot be told";
}

} // namespace

RunAnswers answersOf(const Recovered& recovered, std::optional<std::size_t> pathStep)
{
    RunAnswers answers;
    answers.arrivals = arrivalsOf(recovered);
    checkCancelled();
    answers.times = timesOf(recovered);
    answers.experts = expertLoads(recovered);
    checkCancelled();
    answers.path = criticalPathOver(recovered, pathStep.value_or(recovered.steps.typical()));
    answers.findings = findingsOf(recovered, answers);
    answers.whyNothingLasts = recovered.evidence.whyNothingLasts();
    if (answers.findings.empty())
        answers.nothingFound = nothingFoundText(recovered);
    return answers;
}

RunAnswers answersOf(const Recording& recording, const Recovered& recovered, const Catalogue& catalogue,
                     std::optional<std::size_t> pathStep)
{
    RunAnswers answers = answersOf(recovered, pathStep);
    answers.shapes = shapedWork(recording, recovered, &catalogue);
    for (const RankRecording& rank : recording.ranks)
        answers.amounts.ranksWithMemory += std::any_of(rank.counters.begin(), rank.counters.end(),
                                                       [](const RecordedCounter& counter) { return counter.unit == "bytes"; })
                                               ? 1
                                               : 0;
    for (const RankEvidence& rank : recovered.evidence.ranks) {
        answers.amounts.exchanges += rank.comms.size();
        answers.amounts.withBytes += static_cast<std::size_t>(
            std::count_if(rank.comms.begin(), rank.comms.end(), [](const CommSpan& span) { return span.bytes > 0; }));
    }
    return answers;
}

std::string ofPeakText(const ShapedWork& work)
{
    const std::optional<double> share = work.ofPeak();
    return share ? percentText(*share) : std::string("–");
}

std::string reachedText(const Recovered& recovered, const PathStretch& stretch)
{
    if (stretch.reachedName == 0 && stretch.reachedBy < 0)
        return {};
    const std::string& name = recovered.evidence.names[stretch.reachedName];
    const Exchange exchange = exchangeFromName(name);
    const std::string axis = stretch.reachedBy < 0 ? std::string() : AxesOfGroups(recovered).of(stretch.reachedBy, exchange);
    return (exchange == Exchange::unknown ? name : std::string(exchangeName(exchange))) +
           (axis.empty() || axis == kAllToAllUse ? "" : " over " + axis);
}

nlohmann::ordered_json answersJson(const Recovered& recovered, const RunAnswers& answers)
{
    Json json;
    json["late"] = {
        {"text", answers.arrivals.text},
        {"collectives", answers.arrivals.collectives},
        {"straggler", answers.arrivals.straggler < 0
                          ? Json()
                          : Json(recovered.evidence.ranks[static_cast<std::size_t>(answers.arrivals.straggler)].rank)}};
    json["ranks"] = Json::array();
    const bool isKnown = anyRan(answers.times.ranks); // what devices did
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
        const RankArrivals& late = answers.arrivals.ranks[r];
        Json entry{{"rank", recovered.evidence.ranks[r].rank},
                   {"last", late.last},
                   {"waited_s", secondsOf(static_cast<double>(late.waitedNs))},
                   {"caused_s", secondsOf(static_cast<double>(late.causedNs))}};
        if (r < answers.times.ranks.size()) {
            const RankTime& time = answers.times.ranks[r];
            entry["step_s"] = secondsOf(static_cast<double>(time.windowNs));
            const auto said = [isKnown](double value) { return isKnown ? Json(value) : Json(); };
            entry["comm_s"] = secondsOf(static_cast<double>(time.commNs));
            entry["computing_s"] = said(secondsOf(static_cast<double>(time.computingNs)));
            entry["exposed_comm_s"] = said(secondsOf(static_cast<double>(time.exposedCommNs)));
            entry["copy_s"] = said(secondsOf(static_cast<double>(time.copyNs)));
            entry["idle_s"] = said(secondsOf(static_cast<double>(time.idleNs)));
            entry["host_bound_s"] = said(secondsOf(static_cast<double>(time.hostBoundNs)));
            entry["overlap"] = said(time.overlap());
            entry["exposed_by_axis_s"] = Json::object();
            for (const auto& [axis, ns] : time.exposedByAxis)
                if (isKnown)
                    entry["exposed_by_axis_s"][axis] = secondsOf(static_cast<double>(ns));
        }
        json["ranks"].push_back(std::move(entry));
    }
    json["stages"] = Json::array();
    for (const StageTime& stage : answers.times.stages)
        json["stages"].push_back(
            {{"pipeline_rank", stage.pipelineRank}, {"computing_s", secondsOf(stage.computingNs)}, {"ranks", stage.ranks}});
    json["experts"] = Json::array();
    for (const GroupLoad& load : answers.experts)
        json["experts"].push_back({{"ranks", load.ranks},
                                   {"busiest", load.busiest},
                                   {"longer", load.longer},
                                   {"longer_of_section", load.ofSection},
                                   {"longer_of_section_elsewhere", load.ofSectionElsewhere},
                                   {"sections", load.sections},
                                   {"waited_s", secondsOf(load.waitedNs)}});
    json["kernels"] = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(answers.times.kernels.size(), 50); ++i) {
        const KernelTime& kernel = answers.times.kernels[i];
        json["kernels"].push_back({{"name", kernel.name},
                                   {"count", kernel.count},
                                   {"total_s", secondsOf(static_cast<double>(kernel.totalNs))},
                                   {"shortest_s", secondsOf(static_cast<double>(kernel.shortestNs))},
                                   {"longest_s", secondsOf(static_cast<double>(kernel.longestNs))}});
    }
    json["critical_path"] = {{"jumps", answers.path.jumps}};
    if (answers.path.step < recovered.steps.steps.size())
        json["critical_path"]["step"] = recovered.steps.steps[answers.path.step].number;
    for (const auto& [part, ns] : answers.path.ns)
        json["critical_path"][std::string(pathPartText(part))] = secondsOf(static_cast<double>(ns));
    if (answers.path.segments.empty())
        json["critical_path"]["why_not"] =
            recovered.steps.steps.empty() ? std::string("no step was recovered") : recovered.clock.why;
    json["critical_path"]["stretches"] = Json::array();
    for (const PathStretch& stretch : stretchesOf(answers.path)) {
        const std::string reached = reachedText(recovered, stretch);
        Json entry{{"rank", recovered.evidence.ranks[stretch.rank].rank},
                   {"start_ns", stretch.startNs},
                   {"end_ns", stretch.endNs},
                   {"spans", stretch.spans},
                   {"longest", stretch.spans > 0 ? Json(recovered.evidence.names[stretch.longest]) : Json()},
                   {"reached_by", reached.empty() ? Json() : Json(reached)}};
        for (const auto& [part, ns] : stretch.ns)
            entry[std::string(pathPartText(part))] = secondsOf(static_cast<double>(ns));
        json["critical_path"]["stretches"].push_back(std::move(entry));
    }
    json["shapes"] = Json::array();
    for (const ShapedWork& work : answers.shapes)
        json["shapes"].push_back({{"op", work.op},
                                  {"dtype", work.dtype},
                                  {"shape", work.shape},
                                  {"m", work.m > 0 ? Json(work.m) : Json()},
                                  {"n", work.n > 0 ? Json(work.n) : Json()},
                                  {"k", work.k > 0 ? Json(work.k) : Json()},
                                  {"batch", work.m > 0 ? Json(work.batch) : Json()},
                                  {"calls", work.calls},
                                  {"kernels", work.kernels},
                                  {"kernel_names", work.kernelNames},
                                  {"total_s", secondsOf(static_cast<double>(work.totalNs))},
                                  {"flop", work.flops},
                                  {"flop_per_s", work.flopsPerSecond()},
                                  {"gpu", work.gpu.empty() ? Json() : Json(work.gpu)},
                                  {"of_peak", work.ofPeak() ? Json(*work.ofPeak()) : Json()}});
    json["findings"] = Json::array();
    for (const RunFinding& finding : answers.findings)
        json["findings"].push_back({{"kind", finding.kind},
                                    {"title", finding.title},
                                    {"detail", finding.detail},
                                    {"seconds", finding.seconds},
                                    {"ranks", finding.ranks},
                                    {"start_ns", finding.startNs},
                                    {"end_ns", finding.endNs}});
    return json;
}

std::string answersText(const Recovered& recovered, const RunAnswers& answers)
{
    std::string text = "late ranks\n  " + answers.arrivals.text + "\n";
    if (!answers.times.ranks.empty()) {
        double window = 0, computing = 0, comm = 0, exchanging = 0, copy = 0, idle = 0;
        for (const RankTime& rank : answers.times.ranks) {
            window += static_cast<double>(rank.windowNs);
            computing += static_cast<double>(rank.computingNs);
            comm += static_cast<double>(rank.exposedCommNs);
            exchanging += static_cast<double>(rank.commNs);
            copy += static_cast<double>(rank.copyNs);
            idle += static_cast<double>(rank.idleNs);
        }
        if (window > 0 && !anyRan(answers.times.ranks))
            text += "time of " + countedText(static_cast<std::int64_t>(recovered.evidence.ranks.size()), "rank") +
                    (exchanging > 0
                         ? "\n  communicating " + percentText(exchanging / window) +
                               "; no kernels that compute were recorded: what is computed meanwhile is not known\n"
                         : std::string("\n  no kernels that compute were recorded: nothing is known of what they compute\n"));
        else if (window > 0)
            text += "time of " + countedText(static_cast<std::int64_t>(recovered.evidence.ranks.size()), "rank") +
                    "\n  computing " + percentText(computing / window) + ", exposed communication " + percentText(comm / window) +
                    ", copies " + percentText(copy / window) + ", idle " + percentText(idle / window) + "\n";
    }
    if (!answers.path.segments.empty()) {
        const RecoveredStep& step = recovered.steps.steps[answers.path.step];
        text += "critical path of step " + std::to_string(step.number) +
                (recovered.evidence.missingRanks() > 0 ? " through " + recovered.evidence.summedRanks() : "") +
                (step.overlapNs > 0 ? ", until its last rank ends it, " : ", ") +
                countedText(static_cast<std::int64_t>(answers.path.jumps), "jump") + " between ranks\n ";
        for (const auto& [part, ns] : answers.path.ns)
            text += " " + std::string(pathPartText(part)) + " " + timeText(secondsOf(static_cast<double>(ns))) + ";";
        text.back() = '\n';
        constexpr std::size_t kMostStretches = 12, kMostOfName = 80;
        const std::vector<PathStretch> stretches = stretchesOf(answers.path);
        for (std::size_t i = 0; i < std::min(kMostStretches, stretches.size()); ++i) {
            const std::string reached = reachedText(recovered, stretches[i]);
            const std::string& longest = recovered.evidence.names[stretches[i].longest];
            text += "  rank " + std::to_string(recovered.evidence.ranks[stretches[i].rank].rank) + " for " +
                    timeText(secondsOf(static_cast<double>(stretches[i].endNs - stretches[i].startNs))) +
                    (reached.empty() ? "" : ", reached by " + reached) +
                    (stretches[i].spans > 0 ? ", longest in " + shownText(longest, kMostOfName) : "") + "\n";
        }
        if (stretches.size() > kMostStretches)
            text += "  … and " + std::to_string(stretches.size() - kMostStretches) + " ranks later; --json has them all\n";
    }
    if (!answers.shapes.empty()) {
        constexpr std::size_t kMostShapes = 10;
        text += "matrix products and attention by shape\n";
        for (std::size_t i = 0; i < std::min(kMostShapes, answers.shapes.size()); ++i) {
            const ShapedWork& work = answers.shapes[i];
            constexpr double kTera = 1e12;
            text += "  " + work.op + " " + work.shape + ", " + work.dtype + ": " +
                    countedText(static_cast<std::int64_t>(work.calls), "call") + ", " +
                    timeText(secondsOf(static_cast<double>(work.totalNs))) + ", " +
                    numberText(work.flopsPerSecond() / kTera, Unit::number) + " TFLOP/s" +
                    (work.ofPeak() ? ", " + ofPeakText(work) + " of the peak of " + work.gpu : std::string()) + "\n";
        }
        if (answers.shapes.size() > kMostShapes)
            text += "  … and " + countedText(static_cast<std::int64_t>(answers.shapes.size() - kMostShapes), "shape") +
                    " more; --json has them all\n";
    }
    text += "findings\n";
    for (const RunFinding& finding : answers.findings)
        text += "  " + finding.title + "\n    " + finding.detail + "\n";
    if (answers.findings.empty())
        text += "  " + answers.nothingFound + "\n";
    return text;
}

} // namespace sim
