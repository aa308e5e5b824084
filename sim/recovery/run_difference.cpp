#include "sim/recovery/run_difference.h"

#include "sim/recovery/host_meanwhile.h"
#include "sim/recovery/measured_run.h"
#include "sim/text/characters.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

namespace sim {
namespace {

constexpr double kSecondsOfNs = 1e-9;
constexpr double kNoises = 3; ///< a difference of so many deviations is none of chance
constexpr double kLeastOfStage = 0.05;

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

/// Templates and arguments of long names are left out, but for where those that would look alike part: the JSON has them whole.
class ShortNames {
public:
    void add(const std::string& name) { m_names[startOf(name)].insert(name); }
    std::string of(const std::string& name) const
    {
        const std::string start = startOf(name);
        if (start == name)
            return name;
        // Where it parts from the first of those alike, and where from the last of them.
        std::size_t first = name.size(), last = 0;
        if (const auto alike = m_names.find(start); alike != m_names.end())
            for (const std::string& other : alike->second)
                if (other != name) {
                    const auto apart = static_cast<std::size_t>(
                        std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first - name.begin());
                    first = std::min(first, apart);
                    last = std::max(last, apart);
                }
        if (first >= name.size())
            return start + "…";
        const auto fromWord = [&](std::size_t at) {
            const auto isOfWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; };
            while (at > start.size() && isOfWord(name[at - 1]))
                --at;
            return cutBetweenCharacters(name, at);
        };
        constexpr std::size_t kMostOfFirst = 40, kMostOfLast = 20;
        std::string out = start + "…";
        std::size_t end = fromWord(first);
        const auto add = [&](std::size_t at, std::size_t most) {
            end = cutBetweenCharacters(name, at + most);
            out += name.substr(at, end - at);
            out += end < name.size() ? "…" : "";
        };
        add(end, kMostOfFirst);
        if (last < name.size() && last >= end)
            add(std::max(end, fromWord(last)), kMostOfLast);
        return out;
    }

private:
    static std::string startOf(const std::string& name)
    {
        constexpr std::size_t kMost = 80;
        return name.size() <= kMost ? name
                                    : name.substr(0, cutBetweenCharacters(name, std::min(name.find_first_of("<(", 8), kMost)));
    }
    std::map<std::string, std::set<std::string>> m_names; ///< by their starts
};

class Differences {
public:
    Differences(const Recovered& a, const Recovered& b)
        : m_a(a), m_b(b), m_runA(a, isByPurpose(a, b)), m_runB(b, isByPurpose(a, b))
    {
    }

    RunDifference find()
    {
        pairRanks();
        compareSteps();
        compareParts();
        m_result.kernels = compareClasses(m_runA.kernels, m_runB.kernels);
        makeCollectivesAlike(m_runA, m_runB, m_result.problems);
        m_result.collectives = compareClasses(byText(m_runA.collectives), byText(m_runB.collectives));
        for (const auto* list : {&m_result.kernels, &m_result.collectives})
            for (const ClassDifference& of : *list)
                m_shortNames.add(of.name);
        compareRanks();
        compareStages();
        tell();
        return std::move(m_result);
    }

private:
    /// Only own files name collectives by what they are for, so a run of another recorder has no fellows of these names.
    static bool isByPurpose(const Recovered& a, const Recovered& b) { return a.evidence.isOneClock && b.evidence.isOneClock; }
    static std::map<std::string, ClassSeries> byText(const std::map<CollectiveClass, ClassSeries>& collectives)
    {
        std::map<std::string, ClassSeries> named;
        for (const auto& [of, series] : collectives)
            named.emplace(of.text(), series);
        return named;
    }

    struct Pair {
        std::size_t a = 0, b = 0; ///< indices of ranks
    };

    void pairRanks();
    void compareSteps();
    void compareParts();
    std::vector<ClassDifference> compareClasses(const std::map<std::string, ClassSeries>& a,
                                                const std::map<std::string, ClassSeries>& b) const;
    void compareRanks();
    void compareHosts();
    void compareStages();
    bool isOfItsStage(const RankDifference&) const;
    void tell();
    void tellHosts();
    void tellConfiguration();
    double stepLeast() const { return kLeastOfStep * std::max(m_result.stepSeconds.a, m_result.stepSeconds.b); }
    Verdict verdictOf(double ratio, double noise, double deltaSeconds, double least = kLeastDifference) const
    {
        if (std::abs(deltaSeconds) <= stepLeast() || std::abs(ratio - 1) <= std::max(least, kNoises * noise))
            return Verdict::alike;
        return ratio > 1 ? Verdict::slower : Verdict::faster;
    }

    const Recovered &m_a, &m_b;
    MeasuredRun m_runA, m_runB;
    ShortNames m_shortNames;
    std::vector<Pair> m_pairs;
    RunDifference m_result;
};

void Differences::pairRanks()
{
    const auto& a = m_a.evidence.ranks;
    const auto& b = m_b.evidence.ranks;
    const bool isSameWorld = m_a.evidence.worldOrHighest() == m_b.evidence.worldOrHighest();
    if (!isSameWorld)
        m_result.problems.push_back("the first run is of " + countedText(m_a.evidence.worldOrHighest(), "rank") +
                                    ", the second of " + std::to_string(m_b.evidence.worldOrHighest()) +
                                    ": ranks of the same number need not do the same");
    for (std::size_t i = 0; i < b.size(); ++i) {
        auto of = std::find_if(a.begin(), a.end(), [&](const RankEvidence& rank) { return rank.rank == b[i].rank; });
        // Of a folded trace the rank that stands for it: of the same stage.
        if (of == a.end() && isSameWorld)
            of = std::find_if(a.begin(), a.end(), [&](const RankEvidence& rank) {
                const auto place = static_cast<std::size_t>(&rank - a.data());
                return rank.multiplicity > 1 && m_a.passes.pipelineRank[place] == m_b.passes.pipelineRank[i];
            });
        if (of != a.end())
            m_pairs.push_back({static_cast<std::size_t>(of - a.begin()), i});
    }
    if (m_pairs.empty() && a.size() == b.size()) { // of one run each: the only ones there are
        for (std::size_t i = 0; i < a.size(); ++i)
            m_pairs.push_back({i, i});
        if (!a.empty())
            m_result.problems.push_back("no rank is in both runs: rank " + std::to_string(a[0].rank) +
                                        " of the first is compared with rank " + std::to_string(b[0].rank) + " of the second" +
                                        (a.size() > 1 ? ", and so on in order" : ""));
    }
    if (m_pairs.size() < b.size())
        m_result.problems.push_back("of " + countedText(static_cast<std::int64_t>(b.size()), "rank") + " of the second run " +
                                    std::to_string(b.size() - m_pairs.size()) +
                                    " have no fellow in the first: they are compared with nothing");
}

void Differences::compareSteps()
{
    m_result.stepSeconds = {middleOf(m_runA.stepSeconds), middleOf(m_runB.stepSeconds)};
    m_result.steps = {static_cast<double>(m_a.steps.steps.size()), static_cast<double>(m_b.steps.steps.size())};
    m_result.noise = std::max(noiseOf(m_runA.stepSeconds), noiseOf(m_runB.stepSeconds));
    m_result.verdict = verdictOf(m_result.stepSeconds.ratio(), m_result.noise, m_result.stepSeconds.delta(), kLeastOfStep);
    for (const RecoveredStep& step : m_b.steps.steps) {
        const auto of = std::find_if(m_a.steps.steps.begin(), m_a.steps.steps.end(),
                                     [&](const RecoveredStep& other) { return other.number == step.number; });
        if (of == m_a.steps.steps.end())
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
    add(m_runA.times, &OfRuns::a);
    add(m_runB.times, &OfRuns::b);
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
        for (const Pair& pair : m_pairs) {
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
            difference.count.a += first.count / std::max<double>(1, static_cast<double>(m_runA.kept.size()));
            difference.count.b += second.count / std::max<double>(1, static_cast<double>(m_runB.kept.size()));
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
    for (const Pair& pair : m_pairs) {
        const RankTime &a = m_runA.times[pair.a], &b = m_runB.times[pair.b];
        const auto both = [](std::int64_t first, std::int64_t second) {
            return OfRuns{static_cast<double>(first) * kSecondsOfNs, static_cast<double>(second) * kSecondsOfNs};
        };
        RankDifference& difference = m_result.ranks.emplace_back();
        difference.rankA = m_a.evidence.ranks[pair.a].rank;
        difference.rankB = m_b.evidence.ranks[pair.b].rank;
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
            const auto a = m_runA.kernels.find(kernel.name), b = m_runB.kernels.find(kernel.name);
            if (a == m_runA.kernels.end() || b == m_runB.kernels.end())
                continue;
            const OfRuns own = ofStep(a->second[m_pairs[i].a].seconds, b->second[m_pairs[i].b].seconds);
            if (own.a > 0)
                longest.emplace_back(own.b - kernel.typicalRatio * own.a,
                                     m_shortNames.of(kernel.name) + " (" + numberText(own.ratio(), Unit::number) + " ×)");
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
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        const int stage = m_b.passes.pipelineRank[m_pairs[i].b];
        if (m_b.passes.pipelineRanks < 2 || stage < 0 || m_a.passes.pipelineRank[m_pairs[i].a] != stage)
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

/// What its whole stage does needs no telling of each rank.
bool Differences::isOfItsStage(const RankDifference& rank) const
{
    const auto place = static_cast<std::size_t>(&rank - m_result.ranks.data());
    return std::any_of(m_result.stages.begin(), m_result.stages.end(), [&](const StageDifference& stage) {
        return stage.verdict == rank.verdict && stage.pipelineRank == m_b.passes.pipelineRank[m_pairs[place].b] &&
               std::abs(rank.computing.ratio() - stage.computing.ratio()) < kLeastOfStage;
    });
}

void Differences::tell()
{
    const auto time = [](double seconds) { return numberText(std::abs(seconds), Unit::seconds); };
    const auto changed = [](Verdict verdict, const std::string& longer, const std::string& shorter) {
        return verdict == Verdict::faster || verdict == Verdict::gone ? shorter : longer;
    };
    const auto fromTo = [&](const OfRuns& seconds) {
        return "from " + numberText(seconds.a, Unit::seconds) + " to " + numberText(seconds.b, Unit::seconds);
    };
    const auto add = [&](const char* kind, std::string title, std::string detail, double seconds, std::vector<int> ranks = {}) {
        m_result.findings.push_back({kind, std::move(title), std::move(detail), seconds, std::move(ranks)});
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
            detail + ".", rank.beyondSeconds, {rank.rankB});
    }
    tellHosts();
    for (const StageDifference& stage : m_result.stages)
        if (stage.verdict != Verdict::alike)
            add("stage",
                "Stage " + std::to_string(stage.pipelineRank) + " computes " + percentText(std::abs(stage.beyondOthers)) +
                    changed(stage.verdict, " longer", " shorter") + " than the other stages' change explains",
                "Its ranks went " + fromTo(stage.computing) + " a step.", stage.beyondSeconds);
    for (const auto* list : {&m_result.kernels, &m_result.collectives})
        for (const ClassDifference& of : *list) {
            const bool isKernel = list == &m_result.kernels;
            const char* const kind = isKernel ? "kernel" : "collective";
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
                add(kind, m_shortNames.of(of.name) + how + ": " + amount + changed(of.verdict, " more", " less"),
                    "It went " + fromTo(of.seconds) + "; " + counts, of.seconds.delta());
            }
            if (of.verdict == Verdict::appeared || of.verdict == Verdict::gone)
                add(kind, m_shortNames.of(of.name) + (of.verdict == Verdict::gone ? " is gone: " : " is new: ") + amount,
                    "It has no fellow of its name in the other run.", of.seconds.delta());
            const double waited = of.waiting.delta();
            if (of.waiting.b > 0 && std::abs(waited) > 10 * stepLeast() && std::abs(waited) > kNoises * of.waitingNoise &&
                std::abs(waited) > 0.1 * std::max(of.waiting.a, of.waiting.b))
                add("waiting",
                    "Ranks wait " + time(waited) + (waited > 0 ? " longer" : " shorter") + " a step in " +
                        m_shortNames.of(of.name) + " for the last of them",
                    "Waiting went " + fromTo(of.waiting) + "; it follows from what makes a member late.", waited);
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
                                  "Medians of " + countedText(static_cast<std::int64_t>(m_runA.kept.size()), "step") + " and " +
                                      std::to_string(m_runB.kept.size()) +
                                      (std::min(m_runA.kept.size(), m_runB.kept.size()) < 3
                                           ? std::string("; how much steps of one run differ is not known.")
                                           : "; steps of one run differ by " + percentText(m_result.noise) + "."),
                                  m_result.stepSeconds.delta(),
                                  {}});
    }
}

void Differences::tellHosts()
{
    for (std::size_t i = 0; i < m_result.ranks.size(); ++i) {
        const RankDifference& rank = m_result.ranks[i];
        if (rank.beyondHostSeconds == 0)
            continue;
        const bool isLonger = rank.beyondHostSeconds > 0;
        std::string detail = "It waits for its host " + numberText(rank.hostBound.a, Unit::seconds) + " → " +
                             numberText(rank.hostBound.b, Unit::seconds) + " a step";
        const Recovered& run = isLonger ? m_b : m_a; // the one that idles
        const std::size_t own = isLonger ? m_pairs[i].b : m_pairs[i].a;
        if (const std::string doing = hostMeanwhile(run.evidence, own, usualStepsOf(run, own).spans()); !doing.empty())
            detail += ", most of which its host was in " + doing + (isLonger ? "" : " before");
        m_result.findings.push_back({"idle",
                                     "The device of rank " + std::to_string(rank.rankB) + " waits " +
                                         numberText(std::abs(rank.beyondHostSeconds), Unit::seconds) +
                                         (isLonger ? " longer" : " shorter") +
                                         " a step for its host than the other ranks' change explains",
                                     detail + ".",
                                     rank.beyondHostSeconds,
                                     {rank.rankB}});
    }
}

/// What was recovered of both, surely, and is not the same: it explains much of the rest.
void Differences::tellConfiguration()
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
    if (isKnown(m_a) && isKnown(m_b))
        for (const char* axis : {"tp", "cp", "dp", "pp", "ep"})
            change(std::string(axis) + " ", std::to_string(m_a.axes.sizeOf(axis)), std::to_string(m_b.axes.sizeOf(axis)));
    const auto isSure = [](const Recovered& run) {
        return run.schedule && !run.schedule->kind.empty() && run.schedule->sure >= kSure;
    };
    if (isSure(m_a) && isSure(m_b)) {
        change("schedule ", m_a.schedule->kind, m_b.schedule->kind);
        change("chunks of a rank ", std::to_string(m_a.schedule->virtualStages), std::to_string(m_b.schedule->virtualStages));
        change("micro-batches ", std::to_string(m_a.schedule->microbatches), std::to_string(m_b.schedule->microbatches));
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
    if (const std::string a = gpusOf(m_a), b = gpusOf(m_b); !a.empty() && !b.empty())
        change("GPUs ", a, b);
    if (!changes.empty())
        m_result.findings.push_back({"configuration",
                                     "The two runs are configured differently: " + changes,
                                     "So far as it was recovered; what else differs may follow from it.",
                                     0,
                                     {}});
}

} // namespace

RunDifference differenceOf(const Recovered& a, const Recovered& b)
{
    return Differences(a, b).find();
}

} // namespace sim
