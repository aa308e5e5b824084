#include "sim/recovery/run_difference.h"

#include "sim/recovery/compared_runs.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sim {
namespace {

constexpr double kSecondsOfNs = 1e-9;

double middleOf(std::vector<double> values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2); // the lower: most have as much
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Robust deviation (1.4826 × median distance from the median) as a part of the median.
double noiseOf(const std::vector<double>& values)
{
    const double middle = middleOf(values);
    if (values.size() < 3 || middle <= 0)
        return 0;
    std::vector<double> distances;
    for (const double value : values)
        distances.push_back(std::abs(value - middle));
    return 1.4826 * middleOf(std::move(distances)) / middle;
}

/// What most changed by. Between two halves that changed differently there is no majority: the ratio nearest 1 is usual.
double usualRatioOf(std::vector<double> ratios)
{
    if (ratios.empty())
        return 0;
    std::sort(ratios.begin(), ratios.end());
    const double lower = ratios[(ratios.size() - 1) / 2], upper = ratios[ratios.size() / 2];
    return std::abs(std::log(lower)) <= std::abs(std::log(upper)) ? lower : upper;
}

/// Robust deviation in seconds; 0 where there are too few to know.
double deviationOf(const std::vector<double>& values)
{
    return values.size() < 3 ? 0 : noiseOf(values) * middleOf(values);
}

/// Of a step: the median, or the mean of what happens in fewer than half the steps of either run.
OfRuns ofStep(const std::vector<double>& a, const std::vector<double>& b)
{
    const auto isRare = [](const std::vector<double>& values) {
        return middleOf(values) <= 0 && std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
    };
    if (!isRare(a) && !isRare(b))
        return {middleOf(a), middleOf(b)};
    const auto mean = [](const std::vector<double>& values) {
        double sum = 0;
        for (const double value : values)
            sum += value;
        return values.empty() ? 0 : sum / static_cast<double>(values.size());
    };
    return {mean(a), mean(b)};
}

class Differences {
public:
    Differences(const Recovered& a, const Recovered& b) : m_runs(a, b) {}

    RunDifference find()
    {
        pairRanks();
        compareSteps();
        compareParts();
        m_result.kernels = compareClasses(m_runs.runA.kernels, m_runs.runB.kernels);
        makeCollectivesAlike(m_runs.runA, m_runs.runB, m_result.problems);
        m_result.collectives = compareClasses(byText(m_runs.runA.collectives), byText(m_runs.runB.collectives));
        for (const auto* list : {&m_result.kernels, &m_result.collectives})
            for (const ClassDifference& of : *list)
                m_runs.shortNames.add(of.name);
        compareRanks();
        compareStages();
        tellFindings(m_result, m_runs);
        return std::move(m_result);
    }

private:
    static std::map<std::string, ClassSeries> byText(const std::map<CollectiveClass, ClassSeries>& collectives)
    {
        std::map<std::string, ClassSeries> named;
        for (const auto& [of, series] : collectives)
            named.emplace(of.text(), series);
        return named;
    }

    void pairRanks();
    void compareSteps();
    void compareParts();
    std::vector<ClassDifference> compareClasses(const std::map<std::string, ClassSeries>& a,
                                                const std::map<std::string, ClassSeries>& b) const;
    void compareRanks();
    void compareHosts();
    void compareStages();
    double stepLeast() const { return leastSeconds(m_result); }
    Verdict verdictOf(double ratio, double noise, double deltaSeconds, double least = kLeastDifference) const
    {
        if (std::abs(deltaSeconds) <= stepLeast() || std::abs(ratio - 1) <= std::max(least, kNoises * noise))
            return Verdict::alike;
        return ratio > 1 ? Verdict::slower : Verdict::faster;
    }

    ComparedRuns m_runs;
    RunDifference m_result;
};

void Differences::pairRanks()
{
    const auto& a = m_runs.a.evidence.ranks;
    const auto& b = m_runs.b.evidence.ranks;
    const bool isSameWorld = m_runs.a.evidence.worldOrHighest() == m_runs.b.evidence.worldOrHighest();
    if (!isSameWorld)
        m_result.problems.push_back("the first run is of " + countedText(m_runs.a.evidence.worldOrHighest(), "rank") +
                                    ", the second of " + std::to_string(m_runs.b.evidence.worldOrHighest()) +
                                    ": ranks of the same number need not do the same");
    for (std::size_t i = 0; i < b.size(); ++i) {
        auto of = std::find_if(a.begin(), a.end(), [&](const RankEvidence& rank) { return rank.rank == b[i].rank; });
        // Of a folded trace the rank that stands for it: of the same stage.
        if (of == a.end() && isSameWorld)
            of = std::find_if(a.begin(), a.end(), [&](const RankEvidence& rank) {
                const auto place = static_cast<std::size_t>(&rank - a.data());
                return rank.multiplicity > 1 && m_runs.a.passes.pipelineRank[place] == m_runs.b.passes.pipelineRank[i];
            });
        if (of != a.end())
            m_runs.pairs.push_back({static_cast<std::size_t>(of - a.begin()), i});
    }
    if (m_runs.pairs.empty() && a.size() == b.size()) { // of one run each: the only ones there are
        for (std::size_t i = 0; i < a.size(); ++i)
            m_runs.pairs.push_back({i, i});
        if (!a.empty())
            m_result.problems.push_back("no rank is in both runs: rank " + std::to_string(a[0].rank) +
                                        " of the first is compared with rank " + std::to_string(b[0].rank) + " of the second" +
                                        (a.size() > 1 ? ", and so on in order" : ""));
    }
    if (m_runs.pairs.size() < b.size())
        m_result.problems.push_back("of " + countedText(static_cast<std::int64_t>(b.size()), "rank") + " of the second run " +
                                    std::to_string(b.size() - m_runs.pairs.size()) +
                                    " have no fellow in the first: they are compared with nothing");
}

void Differences::compareSteps()
{
    m_result.stepSeconds = {middleOf(m_runs.runA.stepSeconds), middleOf(m_runs.runB.stepSeconds)};
    m_result.steps = {static_cast<double>(m_runs.a.steps.steps.size()), static_cast<double>(m_runs.b.steps.steps.size())};
    m_result.noise = std::max(noiseOf(m_runs.runA.stepSeconds), noiseOf(m_runs.runB.stepSeconds));
    m_result.verdict = verdictOf(m_result.stepSeconds.ratio(), m_result.noise, m_result.stepSeconds.delta(), kLeastOfStep);
    for (const RecoveredStep& step : m_runs.b.steps.steps) {
        const auto of = std::find_if(m_runs.a.steps.steps.begin(), m_runs.a.steps.steps.end(),
                                     [&](const RecoveredStep& other) { return other.number == step.number; });
        if (of == m_runs.a.steps.steps.end())
            continue;
        StepDifference& difference = m_result.byStep.emplace_back();
        difference.number = step.number;
        difference.seconds = {of->seconds(), step.seconds()};
        difference.verdict = verdictOf(difference.seconds.ratio(), m_result.noise, difference.seconds.delta());
    }
}

void Differences::compareParts()
{
    std::map<std::string, OfRuns> exposed;
    OfRuns computing, copies, idle;
    const auto add = [&](const std::vector<RankTime>& times, double OfRuns::*run) {
        const double each = kSecondsOfNs / std::max<double>(1, static_cast<double>(times.size()));
        for (const RankTime& time : times) {
            computing.*run += static_cast<double>(time.computingNs) * each;
            copies.*run += static_cast<double>(time.copyNs) * each;
            idle.*run += static_cast<double>(time.idleNs) * each;
            for (const auto& [axis, ns] : time.exposedByAxis)
                exposed[axis].*run += static_cast<double>(ns) * each;
        }
    };
    add(m_runs.runA.times, &OfRuns::a);
    add(m_runs.runB.times, &OfRuns::b);
    m_result.parts.push_back({"computing", computing});
    for (const auto& [axis, seconds] : exposed)
        m_result.parts.push_back({"exposed " + (axis.empty() ? std::string("other") : axis) + " communication", seconds});
    m_result.parts.push_back({"copies", copies});
    m_result.parts.push_back({"idle", idle});
}

std::vector<ClassDifference> Differences::compareClasses(const std::map<std::string, ClassSeries>& a,
                                                         const std::map<std::string, ClassSeries>& b) const
{
    static const StepSeries kNone;
    std::set<std::string> names;
    for (const auto* of : {&a, &b})
        for (const auto& [name, series] : *of)
            names.insert(name);
    const auto seriesOf = [](const std::map<std::string, ClassSeries>& of, const std::string& name,
                             std::size_t rank) -> const StepSeries& {
        const auto found = of.find(name);
        return found == of.end() || rank >= found->second.size() ? kNone : found->second[rank];
    };
    std::vector<ClassDifference> differences;
    for (const std::string& name : names) {
        ClassDifference difference{.name = name};
        std::vector<double> ratios, noises;
        bool inA = false, inB = false;
        for (const ComparedRuns::Pair& pair : m_runs.pairs) {
            const StepSeries &first = seriesOf(a, name, pair.a), &second = seriesOf(b, name, pair.b);
            if (!first.any() && !second.any())
                continue;
            ++difference.ranks;
            inA = inA || first.any();
            inB = inB || second.any();
            const OfRuns own = ofStep(first.seconds, second.seconds), waited = ofStep(first.waiting, second.waiting);
            difference.waitingNoise += std::max(deviationOf(first.waiting), deviationOf(second.waiting));
            difference.seconds.a += own.a;
            difference.seconds.b += own.b;
            difference.waiting.a += waited.a;
            difference.waiting.b += waited.b;
            difference.count.a += first.count / std::max<double>(1, static_cast<double>(m_runs.runA.kept.size()));
            difference.count.b += second.count / std::max<double>(1, static_cast<double>(m_runs.runB.kept.size()));
            if (own.a > 0 && own.b > 0) {
                ratios.push_back(own.ratio());
                noises.push_back(std::max(noiseOf(first.seconds), noiseOf(second.seconds)));
            }
        }
        if (difference.ranks == 0)
            continue;
        for (OfRuns* sum : {&difference.seconds, &difference.waiting, &difference.count}) {
            sum->a /= static_cast<double>(difference.ranks);
            sum->b /= static_cast<double>(difference.ranks);
        }
        difference.waitingNoise /= static_cast<double>(difference.ranks);
        difference.noise = middleOf(std::move(noises));
        if (!inA || !inB) {
            difference.typicalRatio = 0;
            if (std::abs(difference.seconds.delta()) > stepLeast())
                difference.verdict = inB ? Verdict::appeared : Verdict::gone;
        } else {
            difference.typicalRatio = ratios.empty() ? 1 : middleOf(std::move(ratios));
            difference.verdict = verdictOf(difference.typicalRatio, difference.noise, difference.seconds.delta());
        }
        differences.push_back(std::move(difference));
    }
    std::stable_sort(differences.begin(), differences.end(), [](const ClassDifference& x, const ClassDifference& y) {
        return std::abs(x.seconds.delta()) > std::abs(y.seconds.delta());
    });
    return differences;
}

/// A rank stands out where its computing grew beyond what the ranks' median grew by.
void Differences::compareRanks()
{
    std::vector<double> ratios;
    for (const ComparedRuns::Pair& pair : m_runs.pairs) {
        const RankTime &a = m_runs.runA.times[pair.a], &b = m_runs.runB.times[pair.b];
        const auto both = [](std::int64_t first, std::int64_t second) {
            return OfRuns{static_cast<double>(first) * kSecondsOfNs, static_cast<double>(second) * kSecondsOfNs};
        };
        RankDifference& difference = m_result.ranks.emplace_back();
        difference.rankA = m_runs.a.evidence.ranks[pair.a].rank;
        difference.rankB = m_runs.b.evidence.ranks[pair.b].rank;
        difference.step = both(a.windowNs, b.windowNs);
        difference.computing = both(a.computingNs, b.computingNs);
        difference.exposedComm = both(a.exposedCommNs, b.exposedCommNs);
        difference.copy = both(a.copyNs, b.copyNs);
        difference.idle = both(a.idleNs, b.idleNs);
        difference.hostBound = both(a.hostBoundNs, b.hostBoundNs);
        if (difference.computing.a > 0 && difference.computing.b > 0)
            ratios.push_back(difference.computing.ratio());
    }
    compareHosts();
    const double usual = usualRatioOf(ratios), noise = noiseOf(ratios);
    if (ratios.size() < 2 || usual <= 0)
        return;
    for (std::size_t i = 0; i < m_result.ranks.size(); ++i) {
        RankDifference& difference = m_result.ranks[i];
        if (difference.computing.a <= 0 || difference.computing.b <= 0)
            continue;
        difference.beyondOthers = difference.computing.ratio() / usual - 1;
        difference.beyondSeconds = difference.computing.b - usual * difference.computing.a;
        difference.verdict = verdictOf(1 + difference.beyondOthers, std::max(noise, m_result.noise), difference.beyondSeconds);
        if (difference.verdict == Verdict::alike)
            continue;
        std::vector<std::pair<double, std::string>> longest;
        for (const ClassDifference& kernel : m_result.kernels) {
            const auto a = m_runs.runA.kernels.find(kernel.name), b = m_runs.runB.kernels.find(kernel.name);
            if (a == m_runs.runA.kernels.end() || b == m_runs.runB.kernels.end())
                continue;
            const OfRuns own = ofStep(a->second[m_runs.pairs[i].a].seconds, b->second[m_runs.pairs[i].b].seconds);
            if (own.a > 0)
                longest.emplace_back(own.b - kernel.typicalRatio * own.a,
                                     m_runs.shortNames.of(kernel.name) + " (" + numberText(own.ratio(), Unit::number) + " ×)");
        }
        const bool isSlower = difference.verdict == Verdict::slower;
        std::stable_sort(longest.begin(), longest.end(),
                         [isSlower](const auto& x, const auto& y) { return isSlower ? x.first > y.first : x.first < y.first; });
        constexpr std::size_t kMostKernels = 3;
        for (std::size_t k = 0; k < std::min(kMostKernels, longest.size()); ++k)
            if (std::abs(longest[k].first) > 0.1 * std::abs(difference.beyondSeconds))
                difference.kernels.push_back(longest[k].second);
    }
}

/// A rank's host stands out where its device waits for it longer beyond what most do.
void Differences::compareHosts()
{
    std::vector<double> longer;
    for (const RankDifference& rank : m_result.ranks)
        longer.push_back(rank.hostBound.delta());
    if (longer.size() < 2)
        return;
    std::sort(longer.begin(), longer.end());
    const double lower = longer[(longer.size() - 1) / 2], upper = longer[longer.size() / 2];
    const double usual = std::abs(lower) <= std::abs(upper) ? lower : upper;
    const double step = std::max(m_result.stepSeconds.a, m_result.stepSeconds.b);
    for (RankDifference& rank : m_result.ranks) {
        const double beyond = rank.hostBound.delta() - usual;
        if (std::abs(beyond) > std::max(kLeastDifference, kNoises * m_result.noise) * step)
            rank.beyondHostSeconds = beyond;
    }
}

void Differences::compareStages()
{
    struct Stage {
        std::vector<double> a, b; ///< computing of its ranks
    };
    std::map<int, Stage> stages;
    for (std::size_t i = 0; i < m_runs.pairs.size(); ++i) {
        const int stage = m_runs.b.passes.pipelineRank[m_runs.pairs[i].b];
        if (m_runs.b.passes.pipelineRanks < 2 || stage < 0 || m_runs.a.passes.pipelineRank[m_runs.pairs[i].a] != stage)
            continue;
        stages[stage].a.push_back(m_result.ranks[i].computing.a);
        stages[stage].b.push_back(m_result.ranks[i].computing.b);
    }
    std::vector<double> ratios;
    for (auto& [stage, of] : stages) {
        StageDifference difference{.pipelineRank = stage};
        difference.computing = {middleOf(std::move(of.a)), middleOf(std::move(of.b))};
        if (difference.computing.a > 0 && difference.computing.b > 0)
            ratios.push_back(difference.computing.ratio());
        m_result.stages.push_back(difference);
    }
    const double usual = usualRatioOf(ratios);
    for (StageDifference& stage : m_result.stages) {
        if (usual <= 0 || stage.computing.a <= 0 || stage.computing.b <= 0)
            continue;
        stage.beyondOthers = stage.computing.ratio() / usual - 1;
        stage.beyondSeconds = stage.computing.b - usual * stage.computing.a;
        // One that grew less than the others did not get faster.
        if (stage.beyondSeconds * stage.computing.delta() > 0)
            stage.verdict = verdictOf(1 + stage.beyondOthers, m_result.noise, stage.beyondSeconds, kLeastOfStage);
    }
}

} // namespace

RunDifference differenceOf(const Recovered& a, const Recovered& b)
{
    return Differences(a, b).find();
}

} // namespace sim
