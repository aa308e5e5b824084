#include "sim/recovery/recover.h"

#include "sim/recovery/counted_passes.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/recovery/busy_time.h"
#include "sim/recovery/from_recording.h"
#include "sim/recovery/kernel_words.h"
#include "sim/recovery/listed_groups.h"
#include "sim/recovery/transfer_way.h"
#include "sim/recovery/unnamed_groups.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace sim {
namespace {

/// Until when no gradient can have been summed.
struct FirstBackward {
    std::int64_t ns = 0;
    bool isTold = false;         ///< else it is an early part of the step
    std::int64_t computesNs = 0; ///< when the first kernel of the step begins
};

/// The first backward's begin as annotations of the device, who launched kernels, annotations of the host or what kernels are
/// called tell it.
FirstBackward firstBackward(const RunEvidence& evidence, const KernelWords& words, const RankEvidence& rank, std::int64_t begin,
                            std::int64_t end)
{
    const auto kernel = std::lower_bound(rank.work.begin(), rank.work.end(), begin,
                                         [](const WorkSpan& span, std::int64_t at) { return span.startNs < at; });
    const std::int64_t computes = kernel == rank.work.end() ? begin : kernel->startNs;
    const auto told = [&](const auto& isBackward) -> std::optional<FirstBackward> {
        const auto backward = std::find_if(kernel, rank.work.end(), isBackward);
        // Where it is the first of all, the step was not cut where it begins.
        if (backward == kernel || backward == rank.work.end() || backward->startNs > end)
            return std::nullopt;
        return FirstBackward{backward->startNs, true, computes};
    };
    std::int64_t first = INT64_MAX;
    for (const bool onDevice : {true, false}) {
        if (!onDevice) {
            const auto byLaunch = told([](const WorkSpan& span) {
                return span.opClass == OpClass::backward || span.opClass == OpClass::backwardInput ||
                       span.opClass == OpClass::backwardWeight;
            });
            if (byLaunch)
                return *byLaunch;
        }
        for (const MarkSpan& mark : rank.marks) {
            if (mark.onDevice != onDevice || mark.startNs < begin)
                continue;
            const std::string& name = evidence.names[mark.name];
            bool isBackward = name.starts_with("Backward ");
            for (const Action& action : actionsFromMark(name, mark.microbatch, evidence.slices))
                isBackward |= action.kind != ActionKind::forward;
            if (isBackward) {
                first = mark.startNs;
                break;
            }
        }
        if (first != INT64_MAX)
            return {first, true, computes};
    }
    if (const auto byName = told([&words](const WorkSpan& span) { return words.isBackward(span.name); }))
        return *byName;
    return {computes + (end - computes) / 12, false, computes};
}

/// Whether a rank runs a model and never trains it, as far as its recording tells: forwards or attention, and nothing of a
/// backward or an optimizer.
bool onlyInfers(const RunEvidence& evidence, const KernelWords& words, const RankEvidence& rank)
{
    bool isForwardTold = false;
    for (const WorkSpan& span : rank.work) {
        if (span.work != DeviceWork::kernel)
            continue;
        const bool isOfTraining = words.way[span.name] != KernelWay::forward ||
                                  (span.opClass >= OpClass::backward && span.opClass <= OpClass::optimizer);
        if (isOfTraining)
            return false;
        isForwardTold = isForwardTold || words.isAttention[span.name] || span.opClass == OpClass::forward;
    }
    std::set<std::uint32_t> names;
    for (const MarkSpan& mark : rank.marks)
        names.insert(mark.name);
    for (const std::uint32_t name : names) {
        std::string text = evidence.names[name];
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        for (const std::string_view word : {"backward", "optimizer", "train", "zero_grad"})
            if (text.find(word) != std::string::npos)
                return false;
        isForwardTold = isForwardTold || text.find("forward") != std::string::npos;
    }
    return isForwardTold && !rank.work.empty();
}

/// Exchanges of a rank by their ends, with their groups.
using EndsOfGroups = std::vector<std::pair<std::int64_t, std::int32_t>>;

EndsOfGroups endsOfGroups(const RankEvidence& rank)
{
    EndsOfGroups ends;
    for (const CommSpan& span : rank.comms)
        ends.emplace_back(span.endNs, span.group);
    std::sort(ends.begin(), ends.end());
    return ends;
}

/// Whether what computes next after a gather is attention, and nothing computes while it runs: parameters are gathered ahead,
/// keys and values are waited for. Of what two groups exchange meanwhile, it is the last to end that was waited for.
bool precedesAttention(const KernelWords& words, const RankEvidence& rank, const EndsOfGroups& ends, const CommSpan& span)
{
    const auto next = std::lower_bound(rank.work.begin(), rank.work.end(), span.endNs,
                                       [](const WorkSpan& work, std::int64_t at) { return work.startNs < at; });
    if (next == rank.work.end() || !words.isAttention[next->name])
        return false;
    for (auto later = std::upper_bound(ends.begin(), ends.end(), std::pair(span.endNs, INT32_MAX));
         later != ends.end() && later->first <= next->startNs; ++later)
        if (later->second != span.group)
            return false;
    const std::int64_t soon = span.startNs + (span.endNs - span.startNs) / 5;
    return next == rank.work.begin() || std::prev(next)->endNs <= soon;
}

/// What a rank's kernels, exchanges and marks name, beside who is in which group.
struct NamedParts {
    bool experts = false, tables = false;
};

NamedParts namedPartsOf(const RankEvidence& rank, const std::vector<NamedParts>& byName)
{
    NamedParts named;
    const auto look = [&](const auto& spans) {
        for (const auto& span : spans) {
            named.experts = named.experts || byName[span.name].experts;
            named.tables = named.tables || byName[span.name].tables;
        }
    };
    look(rank.work);
    look(rank.comms);
    look(rank.marks);
    return named;
}

/// Frames of Python name files that a job may have and not use.
std::vector<NamedParts> partsByName(const RunEvidence& evidence)
{
    std::vector<NamedParts> parts;
    for (const std::string& name : evidence.names) {
        const std::string lowered = loweredName(name);
        const bool isFrame = lowered.find(".py(") != std::string::npos;
        parts.push_back({!isFrame && namesExperts(lowered), !isFrame && namesTables(lowered)});
    }
    return parts;
}

/// What a rank computes from the end of an all-to-all to the begin of the group's next: with attention in it, or without.
class BetweenAllToAlls {
public:
    BetweenAllToAlls(const RankEvidence& rank, const KernelWords& words)
    {
        std::vector<BusyTime::Span> all, attention;
        for (const WorkSpan& span : rank.work)
            if (span.work == DeviceWork::kernel) {
                all.emplace_back(span.startNs, span.endNs);
                if (words.isAttention[span.name])
                    attention.emplace_back(span.startNs, span.endNs);
            }
        m_all = BusyTime(std::move(all));
        m_attention = BusyTime(std::move(attention));
    }
    void add(const CommSpan& span, Carried& group)
    {
        const auto [last, isFirst] = m_lastEndNs.try_emplace(span.group, span.endNs);
        constexpr std::int64_t kNothingNs = 2000; // tokens and their weights travel apart
        if (!isFirst && m_all.within(last->second, span.startNs) >= kNothingNs)
            ++(m_attention.within(last->second, span.startNs) > 0 ? group.aroundAttention : group.apartFromAttention);
        last->second = std::max(last->second, span.endNs);
    }

private:
    BusyTime m_all, m_attention;
    std::map<std::int32_t, std::int64_t> m_lastEndNs;
};

/// What each group carries in the typical step.
std::vector<Carried> carriedByGroup(const RunEvidence& evidence, const std::vector<std::pair<std::int64_t, std::int64_t>>& window)
{
    std::vector<Carried> carried(evidence.groups.size());
    const KernelWords words(evidence);
    const std::vector<TransferWay> ways = transferWays(evidence);
    const std::vector<NamedParts> byName = partsByName(evidence);
    std::map<std::pair<std::int32_t, std::size_t>, bool> tookPart;
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const RankEvidence& rank = evidence.ranks[r];
        const FirstBackward backward = firstBackward(evidence, words, rank, window[r].first, window[r].second);
        const EndsOfGroups ends = endsOfGroups(rank);
        const bool infers = !backward.isTold && onlyInfers(evidence, words, rank);
        const bool sumsElsewhere = std::any_of(rank.comms.begin(), rank.comms.end(), [&](const CommSpan& span) {
            return span.group < 0 && reduces(span.exchange) && span.startNs >= window[r].first && span.startNs < window[r].second;
        });
        const NamedParts named = namedPartsOf(rank, byName);
        std::optional<BetweenAllToAlls> between; // dear: of all kernels
        std::map<std::int32_t, int> gathers;     // of groups, until each sums for the first time
        std::set<std::int32_t> sums;
        // Where no backward is told: a step that is cut by the order of its sums begins with one; and who gathers several times
        // before it sums gathers parameters, layer by layer, as sums of activations are gathered in turn.
        // Losses, counts of tokens and norms are summed in a forward too, by whoever; activations are no such few bytes.
        constexpr std::int64_t kFewBytes = 4096;
        const auto canBeEarly = [&](const CommSpan& span) {
            if (span.bytes > 0 && span.bytes < kFewBytes)
                return false;
            return backward.isTold || (span.startNs > backward.computesNs && gathers[span.group] < 2);
        };
        for (const CommSpan& span : rank.comms) {
            if (span.group < 0 || span.startNs < window[r].first || span.startNs >= window[r].second)
                continue;
            if (reduces(span.exchange))
                sums.insert(span.group);
            else if (span.exchange == Exchange::allGather && !sums.contains(span.group))
                ++gathers[span.group];
            Carried& group = carried[static_cast<std::size_t>(span.group)];
            const auto exchange = static_cast<std::size_t>(span.exchange);
            ++group.count[exchange];
            group.bytes[exchange] += static_cast<double>(span.bytes);
            if (reduces(span.exchange) && span.endNs <= backward.ns && canBeEarly(span))
                ++group.earlyReduces;
            if ((span.exchange == Exchange::allGather || span.exchange == Exchange::sendReceive) &&
                precedesAttention(words, rank, ends, span))
                ++group.attentionGathers;
            if (span.exchange == Exchange::allToAll && evidence.groups[static_cast<std::size_t>(span.group)].areAllToAllsGuessed)
                ++group.guessedAllToAlls;
            if (span.exchange == Exchange::allToAll) {
                if (!between)
                    between.emplace(rank, words);
                between->add(span, group);
            }
            if (span.exchange == Exchange::allToAll && precedesAttention(words, rank, ends, span))
                ++group.attentionAllToAlls;
            if (const TransferWay way = ways[static_cast<std::size_t>(span.group)]; isTransfer(span.exchange)) {
                group.alongLines += way == TransferWay::line ? 1 : 0;
                group.roundRings += way == TransferWay::ring ? 1 : 0;
            }
            if (tookPart.try_emplace({span.group, r}, true).second) {
                ++group.ranks;
                group.untold += backward.isTold ? 0 : 1;
                group.inferring += infers ? 1 : 0;
                group.namedExperts += named.experts ? 1 : 0;
                group.namedTables += named.tables ? 1 : 0;
                group.sumsElsewhere += sumsElsewhere ? 1 : 0;
            }
        }
    }
    for (Carried& group : carried) {
        if (group.ranks <= 0)
            continue;
        for (double& count : group.count)
            count /= group.ranks;
        for (double& bytes : group.bytes)
            bytes /= group.ranks;
        group.earlyReduces /= group.ranks;
        group.attentionGathers /= group.ranks;
        group.attentionAllToAlls /= group.ranks;
        group.guessedAllToAlls /= group.ranks;
        group.namedExperts /= group.ranks;
        group.namedTables /= group.ranks;
        group.apartFromAttention /= group.ranks;
        group.aroundAttention /= group.ranks;
        group.untold /= group.ranks;
        group.inferring /= group.ranks;
        group.sumsElsewhere /= group.ranks;
        group.alongLines /= group.ranks;
        group.roundRings /= group.ranks;
    }
    return carried;
}

void collectGroups(Recovered& result)
{
    const auto window = result.typicalStep();
    const std::vector<Carried> carried =
        window.empty() ? std::vector<Carried>(result.evidence.groups.size()) : carriedByGroup(result.evidence, window);
    std::map<std::tuple<std::string, std::string, std::vector<int>>, std::size_t> known;
    for (std::size_t i = 0; i < result.evidence.groups.size(); ++i) {
        const GroupEvidence& group = result.evidence.groups[i];
        if (group.ranks.size() < 2)
            continue;
        const auto [place, isNew] = known.try_emplace({group.name, group.description, group.ranks}, result.groups.size());
        if (isNew)
            result.groups.push_back({.name = group.name,
                                     .description = group.description,
                                     .ranks = group.ranks,
                                     .evidence = group.evidence,
                                     .carried = carried[i],
                                     .isPartial = group.isPartial});
        else
            result.groups[place->second].carried += carried[i];
    }
}

void correct(RecoveredAxes& axes, const std::vector<AxisCorrection>& corrections, std::vector<std::string>& problems)
{
    for (const AxisCorrection& correction : corrections) {
        const auto axis = std::find_if(axes.axes.begin(), axes.axes.end(),
                                       [&](const RecoveredAxis& a) { return a.stride == correction.stride; });
        if (axis == axes.axes.end()) {
            std::string strides;
            for (const RecoveredAxis& other : axes.axes)
                strides += (strides.empty() ? "" : ", ") + std::to_string(other.stride);
            problems.push_back("no axis joins ranks " + std::to_string(correction.stride) + " apart; axes have strides " +
                               strides);
            continue;
        }
        for (RecoveredAxis& other : axes.axes)
            if (other.name == correction.name && &other != &*axis)
                other.name.clear();
        axis->name = correction.name;
        axis->sure = 1;
        axis->evidence = "as somebody said";
    }
}

} // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> Recovered::windowOf(std::size_t index) const
{
    std::vector<std::pair<std::int64_t, std::int64_t>> window;
    if (index >= steps.steps.size())
        return window;
    const RecoveredStep& step = steps.steps[index];
    for (std::size_t r = 0; r < step.rankStartNs.size(); ++r) {
        const bool isNextThere = index + 1 < steps.steps.size() && steps.steps[index + 1].rankStartNs[r] == step.rankEndNs[r] &&
                                 step.rankStartNs[r] < step.rankEndNs[r];
        window.emplace_back(step.rankStartNs[r], step.rankEndNs[r] - (isNextThere ? 1 : 0));
    }
    return window;
}

Recovered recover(const Recording& recording, const RecoverOptions& options)
{
    return recover(evidenceOf(recording), options);
}

Recovered recover(RunEvidence evidence, const RecoverOptions& options)
{
    Recovered result;
    result.evidence = std::move(evidence);
    if (!options.grid.empty()) {
        if (const std::string problem = gridProblem(options.grid, result.evidence.worldOrHighest()); !problem.empty())
            throw Error(problem);
        result.evidence.axes = options.grid;
        result.evidence.axesEvidence = "as somebody said";
    }
    groupByLists(result.evidence);
    groupByMeetings(result.evidence);
    checkCancelled();
    result.meetings = matchCollectives(result.evidence);
    checkCancelled();
    if (options.alignClocks) {
        result.clock = alignClocks(result.evidence, result.meetings);
        applyClock(result.evidence, result.clock);
    } else {
        result.clock.ranks.resize(result.evidence.ranks.size());
        result.clock.why = "clocks stay as they were recorded";
    }
    checkCancelled();
    result.steps =
        recoverSteps(result.evidence, result.clock.isAligned || result.evidence.isOneClock || result.evidence.ranks.size() < 2);
    checkCancelled();
    collectGroups(result);
    std::vector<int> recorded;
    for (const RankEvidence& rank : result.evidence.ranks)
        recorded.push_back(rank.rank);
    result.axes = recoverAxes(result.groups, result.evidence.worldOrHighest(), recorded, result.evidence.axes,
                              result.evidence.axesEvidence);
    correct(result.axes, options.corrections, result.axes.problems);
    checkCancelled();
    result.passes = recoverPasses(result.evidence, result.axes, result.steps.steps.size());
    countPasses(result.evidence, result.axes, result.typicalStep(), result.passes);
    result.schedule = recoverSchedule(result.evidence, result.axes, result.passes, result.typicalStep());
    if (result.schedule && (!result.passes.any() || result.passes.areCounted) && result.steps.areGuessed) {
        constexpr double kGuessed = 0.4;
        result.schedule->sure *= kGuessed;
        result.schedule->evidence +=
            "; all that was recorded is taken for one step: were it several, each has fewer micro-batches";
    }
    if (result.schedule)
        inferPasses(result.evidence, result.axes, *result.schedule, result.typicalStep(), result.passes);

    const auto report = [&result](const std::vector<std::string>& problems) {
        result.problems.insert(result.problems.end(), problems.begin(), problems.end());
    };
    report(result.evidence.problems);
    report(result.meetings.problems);
    if (!result.clock.isAligned && result.evidence.ranks.size() > 1)
        result.problems.push_back("clocks: " + result.clock.why);
    report(result.clock.violations);
    report(result.steps.problems);
    report(result.axes.problems);
    if (std::string unknown = result.axes.unknownGrid(); !unknown.empty())
        result.problems.push_back(std::move(unknown));
    const int world = result.evidence.worldOrHighest();
    const bool isWorldSaid = result.evidence.worldSize == world; // else the highest number that is known
    if (static_cast<int>(recorded.size()) < world && result.evidence.missingRanks() == 0)
        result.problems.push_back(std::to_string(recorded.size()) + " ranks are recorded, and stand for all " +
                                  std::to_string(world) + ": others behave as one of these");
    else if (static_cast<int>(recorded.size()) < world && !recorded.empty())
        result.problems.push_back(std::to_string(recorded.size()) + " of " + (isWorldSaid ? "" : "at least ") +
                                  std::to_string(world) + " ranks are recorded: who waits for the others is not seen");
    return result;
}

} // namespace sim
