// What two runs differ in, as sentences for a person: ranks, hosts, stages, kernels, waiting, and what was configured.
#include "sim/recovery/compared_runs.h"
#include "sim/recovery/host_meanwhile.h"
#include "sim/text/number_text.h"

#include <cmath>
#include <set>

namespace sim {
namespace {

class DifferenceFindings {
public:
    DifferenceFindings(RunDifference& result, const ComparedRuns& runs) : m_result(result), m_runs(runs) {}
    void tell();

private:
    bool isOfItsStage(const RankDifference&) const;
    void tellHosts();
    void tellConfiguration();

    RunDifference& m_result;
    const ComparedRuns& m_runs;
};

/// What its whole stage does needs no telling of each rank.
bool DifferenceFindings::isOfItsStage(const RankDifference& rank) const
{
    const auto place = static_cast<std::size_t>(&rank - m_result.ranks.data());
    return std::any_of(m_result.stages.begin(), m_result.stages.end(), [&](const StageDifference& stage) {
        return stage.verdict == rank.verdict && stage.pipelineRank == m_runs.b.passes.pipelineRank[m_runs.pairs[place].b] &&
               std::abs(rank.computing.ratio() - stage.computing.ratio()) < kLeastOfStage;
    });
}

void DifferenceFindings::tell()
{
    const auto time = [](double seconds) { return numberText(std::abs(seconds), Unit::seconds); };
    const auto changed = [](Verdict verdict, const std::string& longer, const std::string& shorter) {
        return verdict == Verdict::faster || verdict == Verdict::gone ? shorter : longer;
    };
    const auto fromTo = [&](const OfRuns& seconds) {
        return "from " + numberText(seconds.a, Unit::seconds) + " to " + numberText(seconds.b, Unit::seconds);
    };
    const auto add = [&](const char* kind, std::string title, std::string detail, double seconds, Verdict verdict,
                         std::string subject, std::size_t ofRanks, std::vector<int> ranks = {}) {
        // Of the mean rank's step: what few ranks have is less of it.
        const double part = ofRanks == 0 ? 1 : static_cast<double>(ofRanks) / static_cast<double>(m_result.ranks.size());
        m_result.findings.push_back(
            {kind, std::move(title), std::move(detail), seconds, std::move(ranks), std::move(subject), verdict, seconds * part});
    };
    for (const RankDifference& rank : m_result.ranks) {
        if (rank.verdict == Verdict::alike || isOfItsStage(rank))
            continue;
        std::string detail = "Its computing went " + fromTo(rank.computing) + " a step";
        for (const std::string& kernel : rank.kernels)
            detail += (&kernel == rank.kernels.data() ? "; most by " : ", ") + kernel;
        add("rank",
            "Rank " + std::to_string(rank.rankB) + " computes " + percentText(std::abs(rank.beyondOthers)) +
                changed(rank.verdict, " longer", " shorter") + " than the other ranks' change explains",
            detail + ".", rank.beyondSeconds, rank.verdict, {}, 0, {rank.rankB});
    }
    tellHosts();
    for (const StageDifference& stage : m_result.stages)
        if (stage.verdict != Verdict::alike)
            add("stage",
                "Stage " + std::to_string(stage.pipelineRank) + " computes " + percentText(std::abs(stage.beyondOthers)) +
                    changed(stage.verdict, " longer", " shorter") + " than the other stages' change explains",
                "Its ranks went " + fromTo(stage.computing) + " a step.", stage.beyondSeconds, stage.verdict, {}, 0);
    for (const auto* list : {&m_result.kernels, &m_result.collectives})
        for (const ClassDifference& of : *list) {
            const bool isKernel = list == &m_result.kernels;
            const char* const kind = isKernel ? "kernel" : "collective";
            const bool isRenamed = of.verdict == Verdict::appeared || of.verdict == Verdict::gone;
            const std::string subject = isKernel ? subjectOfKernel(of.name, isRenamed) : subjectOfCollective(of.name);
            const std::string amount = time(of.seconds.delta()) + " a step and rank";
            const std::string counts = numberText(of.count.a, Unit::number) + " → " + numberText(of.count.b, Unit::number) +
                                       " of them a step and rank, on " +
                                       countedText(static_cast<std::int64_t>(of.ranks), "rank") + ".";
            if (of.verdict == Verdict::slower || of.verdict == Verdict::faster) {
                // Twice as many calls are no slower ones.
                const double often = of.count.ratio(), ofCall = often > 0 ? of.typicalRatio / often : of.typicalRatio;
                const bool isOften = often > 0 && std::abs(often - 1) > kLeastDifference;
                const auto times = [](double ratio) { return numberText(ratio, Unit::number) + " × as "; };
                const std::string how = !isOften ? " takes " + times(of.typicalRatio) + "long"
                                        : std::abs(ofCall - 1) < kLeastDifference
                                            ? " runs " + times(often) + "often"
                                            : " runs " + times(often) + "often, and takes " + times(ofCall) + "long each time";
                add(kind, m_runs.shortNames.of(of.name) + how + ": " + amount + changed(of.verdict, " more", " less"),
                    "It went " + fromTo(of.seconds) + "; " + counts, of.seconds.delta(), of.verdict, subject, of.ranks);
            }
            if (isRenamed)
                add(kind, m_runs.shortNames.of(of.name) + (of.verdict == Verdict::gone ? " is gone: " : " is new: ") + amount,
                    "It has no fellow of its name in the other run.", of.seconds.delta(), of.verdict, subject, of.ranks);
            const double waited = of.waiting.delta();
            if (of.waiting.b > 0 && std::abs(waited) > 10 * leastSeconds(m_result) &&
                std::abs(waited) > kNoises * of.waitingNoise && std::abs(waited) > 0.1 * std::max(of.waiting.a, of.waiting.b))
                add("waiting",
                    "Ranks wait " + time(waited) + (waited > 0 ? " longer" : " shorter") + " a step in " +
                        m_runs.shortNames.of(of.name) + " for the last of them",
                    "Waiting went " + fromTo(of.waiting) + "; it follows from what makes a member late.", waited,
                    waited > 0 ? Verdict::slower : Verdict::faster, {}, of.ranks);
        }
    tellConfiguration();
    if (m_result.verdict == Verdict::alike && m_result.findings.empty())
        return;
    std::stable_sort(m_result.findings.begin(), m_result.findings.end(),
                     [](const DifferenceFinding& x, const DifferenceFinding& y) {
                         const auto place = [](const DifferenceFinding& f) {
                             return f.kind == "configuration" ? 0 : f.kind == "waiting" ? 2 : 1;
                         };
                         return std::pair(place(x), -std::abs(x.seconds)) < std::pair(place(y), -std::abs(y.seconds));
                     });
    if (m_result.verdict != Verdict::alike) {
        const std::string text = "The step takes " + percentText(std::abs(m_result.stepSeconds.ratio() - 1)) +
                                 changed(m_result.verdict, " longer", " less") + ": " +
                                 numberText(m_result.stepSeconds.a, Unit::seconds) + " → " +
                                 numberText(m_result.stepSeconds.b, Unit::seconds);
        m_result.findings.insert(m_result.findings.begin(),
                                 {"step",
                                  text,
                                  "Medians of " + countedText(static_cast<std::int64_t>(m_runs.runA.kept.size()), "step") +
                                      " and " + std::to_string(m_runs.runB.kept.size()) +
                                      (std::min(m_runs.runA.kept.size(), m_runs.runB.kept.size()) < 3
                                           ? std::string("; how much steps of one run differ is not known.")
                                           : "; steps of one run differ by " + percentText(m_result.noise) + "."),
                                  m_result.stepSeconds.delta(),
                                  {},
                                  {},
                                  m_result.verdict});
    }
}

void DifferenceFindings::tellHosts()
{
    for (std::size_t i = 0; i < m_result.ranks.size(); ++i) {
        const RankDifference& rank = m_result.ranks[i];
        if (rank.beyondHostSeconds == 0)
            continue;
        const bool isLonger = rank.beyondHostSeconds > 0;
        std::string detail = "It waits for its host " + numberText(rank.hostBound.a, Unit::seconds) + " → " +
                             numberText(rank.hostBound.b, Unit::seconds) + " a step";
        const Recovered& run = isLonger ? m_runs.b : m_runs.a; // the one that idles
        const std::size_t own = isLonger ? m_runs.pairs[i].b : m_runs.pairs[i].a;
        if (const std::string doing = hostMeanwhile(run.evidence, own, usualStepsOf(run, own).spans()); !doing.empty())
            detail += ", most of which its host was in " + doing + (isLonger ? "" : " before");
        m_result.findings.push_back({"idle",
                                     "The device of rank " + std::to_string(rank.rankB) + " waits " +
                                         numberText(std::abs(rank.beyondHostSeconds), Unit::seconds) +
                                         (isLonger ? " longer" : " shorter") +
                                         " a step for its host than the other ranks' change explains",
                                     detail + ".",
                                     rank.beyondHostSeconds,
                                     {rank.rankB},
                                     {},
                                     isLonger ? Verdict::slower : Verdict::faster,
                                     rank.beyondHostSeconds});
    }
}

/// What was recovered of both, surely, and is not the same: it explains much of the rest.
void DifferenceFindings::tellConfiguration()
{
    constexpr double kSure = 0.5;
    std::string changes;
    const auto change = [&](const std::string& what, const std::string& a, const std::string& b) {
        if (a != b)
            changes += (changes.empty() ? "" : ", ") + what + a + " → " + b;
    };
    const auto isKnown = [](const Recovered& run) { // and where every rank lies
        int ranks = 1;
        for (const RecoveredAxis& axis : run.axes.axes) {
            if (axis.name.empty() || axis.sure < kSure)
                return false;
            ranks *= axis.name == "ep" ? 1 : axis.size;
        }
        return ranks == run.axes.worldSize;
    };
    if (isKnown(m_runs.a) && isKnown(m_runs.b))
        for (const char* axis : {"tp", "cp", "dp", "pp", "ep"})
            change(std::string(axis) + " ", std::to_string(m_runs.a.axes.sizeOf(axis)),
                   std::to_string(m_runs.b.axes.sizeOf(axis)));
    const auto isSure = [](const Recovered& run) {
        return run.schedule && !run.schedule->kind.empty() && run.schedule->sure >= kSure;
    };
    if (isSure(m_runs.a) && isSure(m_runs.b)) {
        change("schedule ", m_runs.a.schedule->kind, m_runs.b.schedule->kind);
        change("chunks of a rank ", std::to_string(m_runs.a.schedule->virtualStages),
               std::to_string(m_runs.b.schedule->virtualStages));
        change("micro-batches ", std::to_string(m_runs.a.schedule->microbatches),
               std::to_string(m_runs.b.schedule->microbatches));
    }
    const auto gpusOf = [](const Recovered& run) {
        std::set<std::string> names;
        for (const RankEvidence& rank : run.evidence.ranks)
            names.insert(rank.deviceName);
        names.erase("");
        std::string text;
        for (const std::string& name : names)
            text += (text.empty() ? "" : " and ") + name;
        return text;
    };
    if (const std::string a = gpusOf(m_runs.a), b = gpusOf(m_runs.b); !a.empty() && !b.empty())
        change("GPUs ", a, b);
    if (!changes.empty())
        m_result.findings.push_back({.kind = "configuration",
                                     .title = "The two runs are configured differently: " + changes,
                                     .detail = "So far as it was recovered; what else differs may follow from it.",
                                     .ranks = {},
                                     .subject = {}});
}

} // namespace

void tellFindings(RunDifference& difference, const ComparedRuns& runs)
{
    DifferenceFindings(difference, runs).tell();
    tellCauses(difference);
}

} // namespace sim
