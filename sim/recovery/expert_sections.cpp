#include "sim/recovery/expert_sections.h"

#include "sim/recovery/busy_time.h"
#include "sim/recovery/kernel_words.h"
#include "sim/recovery/rank_time.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace sim {
namespace {

/// From one exchange of a rank to the next of the same step.
struct Gap {
    double computingNs = 0;
    bool hasAttention = false; ///< or the loss
};

/// Computing of a rank between exchanges.
struct Sections {
    std::vector<double> experts;
    std::vector<double> elsewhere; ///< with attention or the loss in it
};

/// Less between two exchanges is nothing: tokens and their weights travel apart, and a stage's last layer turns round.
constexpr double kNothingNs = 2000;

/// What a rank's device does.
struct Work {
    BusyTime all, attention; ///< kernels; those of attention and of the loss
};

Work workOf(const RankEvidence& rank, const KernelWords& words)
{
    std::vector<BusyTime::Span> all, attention;
    for (const WorkSpan& span : rank.work) {
        if (span.work != DeviceWork::kernel)
            continue;
        all.emplace_back(span.startNs, span.endNs);
        if (words.isAttention[span.name] || words.isLoss[span.name])
            attention.emplace_back(span.startNs, span.endNs);
    }
    return {BusyTime(std::move(all)), BusyTime(std::move(attention))};
}

/// Of a rank in a group, over these steps.
std::vector<Gap> gapsOf(const Recovered& recovered, std::size_t rank, std::int32_t group, const Work& work,
                        const std::vector<std::size_t>& steps)
{
    std::vector<Gap> out;
    for (const std::size_t step : steps) {
        const RecoveredStep& of = recovered.steps.steps[step];
        std::optional<std::int64_t> lastEndNs;
        const std::vector<CommSpan>& comms = recovered.evidence.ranks[rank].comms; // by their starts
        for (auto next = std::lower_bound(comms.begin(), comms.end(), of.rankStartNs[rank],
                                          [](const CommSpan&span, std::int64_t ns) { return span.startNs < ns; });
             next != comms.end() && next->startNs < of.rankEndNs[rank]; ++next) {
            const CommSpan& span = *next;
            if (span.group != group || span.exchange != Exchange::allToAll || span.endNs > of.rankEndNs[rank])
                continue;
            if (lastEndNs)
                out.push_back({static_cast<double>(work.all.within(*lastEndNs, span.startNs)),
                               work.attention.within(*lastEndNs, span.startNs) > 0});
            lastEndNs = std::max(lastEndNs.value_or(span.endNs), span.endNs);
        }
    }
    return out;
}

/// The gaps of all members side by side, in which they compute. Nothing where they did not exchange equally often.
std::vector<Sections> sectionsOf(const std::vector<std::vector<Gap>>& members)
{
    const std::size_t gaps = members.front().size();
    if (!std::all_of(members.begin(), members.end(), [&](const std::vector<Gap>& of) { return of.size() == gaps; }))
        return {};
    std::vector<Sections> out(members.size());
    for (std::size_t i = 0; i < gaps; ++i) {
        double sum = 0;
        bool isElsewhere = false;
        for (const std::vector<Gap>& member : members) {
            sum += member[i].computingNs;
            isElsewhere = isElsewhere || member[i].hasAttention;
        }
        if (sum < kNothingNs * static_cast<double>(members.size()))
            continue;
        for (std::size_t m = 0; m < members.size(); ++m)
            (isElsewhere ? out[m].elsewhere : out[m].experts).push_back(members[m][i].computingNs);
    }
    return out;
}

double sumOf(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// By how much a member computes longer than the mean of all.
double longerBy(const std::vector<Sections>& members, std::vector<double> Sections::*part, std::size_t member)
{
    double sum = 0;
    for (const Sections& each : members)
        sum += sumOf(each.*part);
    const double mean = sum / static_cast<double>(members.size());
    return mean > 0 ? sumOf(members[member].*part) / mean - 1 : 0;
}

struct Spread {
    double ns = 0, ofMean = 0;
};

/// By how much the longest of each section is above its mean, all sections together.
Spread spreadOf(const std::vector<Sections>& members, std::vector<double> Sections::*part)
{
    Spread out;
    double means = 0;
    for (std::size_t i = 0; i < (members.front().*part).size(); ++i) {
        double sum = 0, longest = 0;
        for (const Sections& member : members) {
            sum += (member.*part)[i];
            longest = std::max(longest, (member.*part)[i]);
        }
        const double mean = sum / static_cast<double>(members.size());
        out.ns += longest - mean;
        means += mean;
    }
    out.ofMean = means > 0 ? out.ns / means : 0;
    return out;
}

std::optional<GroupLoad> loadOf(const std::vector<int>& ranks, const std::vector<Sections>& members, std::size_t steps)
{
    const std::size_t sections = members.empty() ? 0 : members.front().experts.size();
    if (sections == 0 || members.front().elsewhere.empty())
        return {};
    const Spread spread = spreadOf(members, &Sections::experts);
    std::size_t busiest = 0;
    for (std::size_t i = 1; i < members.size(); ++i)
        busiest = sumOf(members[i].experts) > sumOf(members[busiest].experts) ? i : busiest;
    const std::size_t atLeastOne = std::max<std::size_t>(1, steps);
    // The longest is in the mean that it is above, and waits for nobody.
    const auto all = static_cast<double>(members.size());
    const double othersWait = spread.ns * all / std::max(1.0, all - 1);
    return GroupLoad{.ranks = ranks,
                     .busiest = ranks[busiest],
                     .longer = longerBy(members, &Sections::experts, busiest),
                     .ofSection = spread.ofMean,
                     .ofSectionElsewhere = spreadOf(members, &Sections::elsewhere).ofMean,
                     .waitedNs = othersWait / static_cast<double>(atLeastOne),
                     .sections = sections / atLeastOne};
}

} // namespace

std::vector<GroupLoad> expertLoads(const Recovered& recovered)
{
    const AxesOfGroups axes(recovered);
    const std::vector<std::size_t> steps = recovered.steps.usual();
    std::map<int, std::size_t> indexOf;
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r)
        indexOf[recovered.evidence.ranks[r].rank] = r;
    const KernelWords words(recovered.evidence);
    std::map<std::size_t, Work> work; // of ranks that have experts
    std::vector<GroupLoad> loads;
    for (std::size_t g = 0; g < recovered.evidence.groups.size(); ++g) {
        const auto group = static_cast<std::int32_t>(g);
        const std::vector<int>& ranks = recovered.evidence.groups[g].ranks;
        if (ranks.size() < 2 || axes.of(group, Exchange::allToAll) != "ep" ||
            !std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return indexOf.contains(rank); }))
            continue;
        std::vector<std::vector<Gap>> members;
        for (const int rank : ranks) {
            const std::size_t index = indexOf.at(rank);
            const auto [own, isNew] = work.try_emplace(index);
            if (isNew)
                own->second = workOf(recovered.evidence.ranks[index], words);
            members.push_back(gapsOf(recovered, index, group, own->second, steps));
        }
        if (const auto load = loadOf(ranks, sectionsOf(members), steps.size()))
            loads.push_back(*load);
    }
    std::stable_sort(loads.begin(), loads.end(), [](const GroupLoad& a, const GroupLoad& b) { return a.waitedNs > b.waitedNs; });
    return loads;
}

} // namespace sim
