#include "sim/recovery/steps.h"

#include "sim/quantile.h"
#include "sim/recovery/kernel_words.h"
#include "sim/recovery/passes.h"
#include "sim/recovery/step_bounds.h"
#include "sim/recovery/unlike_steps.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace sim {
namespace {

constexpr std::string_view kStepWord = "ProfilerStep#";

/// A step's number, behind how often the rank held a step of that number before: each of several recordings may count anew.
using StepKey = std::pair<std::size_t, std::int64_t>;

/// The device's twin where there is one.
std::map<StepKey, StepMark> marksOf(const RunEvidence& evidence, const RankEvidence& rank)
{
    std::vector<StepMark> marks = rank.steps;
    for (const bool onDevice : {true, false})
        for (const MarkSpan& mark : rank.marks) {
            const std::string_view name = evidence.names[mark.name];
            if (!rank.steps.empty() || mark.onDevice != onDevice || !name.starts_with(kStepWord))
                continue;
            StepMark step{.number = 0, .startNs = mark.startNs, .endNs = mark.endNs};
            const char* digits = name.data() + kStepWord.size();
            if (std::from_chars(digits, name.data() + name.size(), step.number).ec == std::errc())
                marks.push_back(step);
        }
    if (!rank.steps.empty())
        std::stable_sort(marks.begin(), marks.end(), [](const StepMark& a, const StepMark& b) { return a.startNs < b.startNs; });
    std::map<StepKey, StepMark> steps;
    std::map<std::int64_t, std::size_t> times; // that a number was there
    for (const StepMark& mark : marks) {
        std::size_t& before = times[mark.number];
        const bool isTwin = before > 0 && (rank.steps.empty() || mark.startNs < steps.at({before - 1, mark.number}).endNs);
        if (!isTwin)
            steps.emplace(StepKey(before++, mark.number), mark);
    }
    return steps;
}

struct Extent {
    std::int64_t first = INT64_MAX, last = INT64_MIN;
};

Extent extentOf(const RankEvidence& rank, std::pair<std::int64_t, std::int64_t> within = {INT64_MIN, INT64_MAX})
{
    Extent extent;
    const auto take = [&](const auto& spans) {
        for (const auto& span : spans) {
            if (span.startNs < within.first || span.startNs > within.second)
                continue;
            extent.first = std::min(extent.first, span.startNs);
            extent.last = std::max(extent.last, span.endNs);
        }
    };
    take(rank.comms);
    take(rank.work);
    if (extent.first > extent.last)
        take(rank.marks);
    return extent;
}

std::size_t collectivesOf(const RankEvidence& rank)
{
    return static_cast<std::size_t>(
        std::count_if(rank.comms.begin(), rank.comms.end(), [](const CommSpan& span) { return !isTransfer(span.exchange); }));
}

/// Whether a collective was recorded that no period holds as a whole.
bool isCommBefore(const RankEvidence& rank, std::int64_t ns)
{
    return std::any_of(rank.comms.begin(), rank.comms.end(),
                       [ns](const CommSpan& span) { return !isTransfer(span.exchange) && span.startNs < ns; });
}

/// `begins` are those of a period's first collective, but a recording may begin with kernels that lead to it, which then belong
/// to it in each period: they are put before by as many kernels. Returns where the last period ends, after as many kernels as the
/// one before it holds; what was recorded behind them is of a step that is cut.
std::int64_t beginWithWork(std::vector<std::int64_t>& begins, const RankEvidence& rank, const Extent& whole)
{
    std::vector<std::int64_t> kernels; // their starts
    for (const WorkSpan& span : rank.work)
        if (span.work == DeviceWork::kernel)
            kernels.push_back(span.startNs);
    const auto placeOf = [&](std::int64_t ns) {
        return static_cast<std::size_t>(std::lower_bound(kernels.begin(), kernels.end(), ns) - kernels.begin());
    };
    const bool isCut = isCommBefore(rank, begins.front());
    std::size_t lead = isCut ? 0 : placeOf(begins.front());
    std::size_t fewest = SIZE_MAX; // in a period
    for (std::size_t k = 0; k + 1 < begins.size(); ++k)
        fewest = std::min(fewest, placeOf(begins[k + 1]) - placeOf(begins[k]));
    if (lead > fewest) // that is more than leads to one of them
        lead = 0;
    else if (!isCut)
        begins.front() = whole.first;
    for (std::size_t k = 1; k < begins.size() && lead > 0; ++k)
        begins[k] = kernels[placeOf(begins[k]) - lead];
    const std::size_t each = placeOf(begins.back()) - placeOf(begins[begins.size() - 2]);
    const std::size_t end = placeOf(begins.back()) + each;
    return each > 0 && end < kernels.size() ? kernels[end] : whole.last;
}

/// After how many collectives the order of all of them begins anew: 0 where it never does twice.
std::size_t periodOf(const RankEvidence& rank)
{
    std::vector<std::tuple<Exchange, std::int32_t, std::int64_t>> order;
    for (const CommSpan& span : rank.comms)
        if (!isTransfer(span.exchange))
            order.emplace_back(span.exchange, span.group, span.exchange == Exchange::allToAll ? 0 : span.bytes);
    // The shortest prefix that the rest repeats (its border): Knuth, Morris and Pratt.
    std::vector<std::size_t> border(order.size() + 1, 0);
    for (std::size_t i = 1, k = 0; i < order.size(); ++i) {
        while (k > 0 && order[i] != order[k])
            k = border[k];
        k += order[i] == order[k] ? 1 : 0;
        border[i + 1] = k;
    }
    const std::size_t period = order.size() - border[order.size()];
    return period * 2 <= order.size() ? period : 0;
}

struct KernelsOfName {
    double count = 0, ns = 0;
};
using KernelsByName = std::map<std::uint32_t, KernelsOfName>;

/// Kernels of a rank from each of `begins` to the next; what runs before the first belongs to none.
std::vector<KernelsByName> kernelsFrom(const RankEvidence& rank, const std::vector<std::int64_t>& begins)
{
    std::vector<KernelsByName> parts(begins.size());
    for (const WorkSpan& span : rank.work) {
        const auto next = std::upper_bound(begins.begin(), begins.end(), span.startNs);
        if (span.work != DeviceWork::kernel || next == begins.begin())
            continue;
        KernelsOfName& of = parts[static_cast<std::size_t>(next - begins.begin() - 1)][span.name];
        ++of.count;
        of.ns += static_cast<double>(span.endNs - span.startNs);
    }
    return parts;
}

/// Whether the last of the parts alone runs what takes a noticeable time of it: the optimizer, and the parts are micro-batches.
bool endsWithWorkOfItsOwn(const std::vector<KernelsByName>& parts)
{
    constexpr double kNoticeable = 0.002; // a kernel more in a profile's last step is less
    double all = 0, own = 0;
    for (const auto& [name, kernels] : parts.back()) {
        all += kernels.ns;
        // A name bound anew: C++20 lets no lambda take a structured binding with every compiler.
        const auto& kernel = name;
        if (std::none_of(parts.begin(), std::prev(parts.end()), [&](const auto& part) { return part.contains(kernel); }))
            own += kernels.ns;
    }
    return own > kNoticeable * all;
}

/// Whether a rank runs the same kernels from each of `begins` to the next. Passes of a step may exchange the same in the same
/// order, but forwards, backwards and the optimizer are other kernels. Some step may be unlike the others, as one that evaluates.
bool areAlikeInWork(const RankEvidence& rank, const std::vector<std::int64_t>& begins)
{
    constexpr double kMostUnlike = 0.1; // of kernels: some are run now and then
    const std::vector<KernelsByName> parts = kernelsFrom(rank, begins);
    if (endsWithWorkOfItsOwn(parts))
        return false;
    std::size_t alike = 0;
    for (std::size_t k = 1; k < parts.size(); ++k) {
        const bool isLast = k + 1 == parts.size();
        std::map<std::uint32_t, std::array<double, 2>> counts;
        for (const std::size_t which : {k - 1, k})
            for (const auto& [name, kernels] : parts[which])
                counts[name][which == k ? 1 : 0] = kernels.count;
        double unlike = 0, all = 0;
        for (const auto& [name, count] : counts) {
            // Of a last part that was cut short, what is missing says nothing.
            unlike += isLast ? std::max(0.0, count[1] - count[0]) : std::abs(count[0] - count[1]);
            all += std::max(count[0], count[1]);
        }
        alike += unlike <= kMostUnlike * all ? 1 : 0;
    }
    return 2 * alike >= parts.size(); // more than half of the pairs
}

/// Whether each rank sends and receives as often after one of `begins` as after another: micro-batches come and go in a step.
/// The recorder may have stopped within the last of them, and begun within what precedes the first. Also where no rank does at
/// all.
bool haveTransfersAlike(const RunEvidence& evidence, const std::vector<std::vector<std::int64_t>>& begins)
{
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        std::vector<std::size_t> counts(begins[r].size(), 0);
        for (const CommSpan& span : evidence.ranks[r].comms) {
            const auto next = std::upper_bound(begins[r].begin(), begins[r].end(), span.startNs);
            if (isTransfer(span.exchange) && next != begins[r].begin())
                ++counts[static_cast<std::size_t>(next - begins[r].begin() - 1)];
        }
        if (counts.empty())
            continue;
        const auto last = std::prev(counts.end());
        if (std::any_of(counts.begin(), last, [&](std::size_t count) { return count != counts.front(); }) ||
            *last > counts.front())
            return false;
    }
    return true;
}

/// Where the first pass comes again, a step begins: starts of the first pass of each. Nothing where steps then differ in their
/// passes, or there is one pass alone, which tells of no order.
std::vector<std::int64_t> startsByPasses(const RunEvidence& evidence, const RankEvidence& rank)
{
    std::vector<std::pair<const MarkSpan*, std::vector<Action>>> passes;
    bool anyOnDevice = false; // then its twin on the host says the same, earlier
    for (const MarkSpan& mark : rank.marks)
        if (auto actions = actionsFromMark(evidence.names[mark.name], mark.microbatch, evidence.slices); !actions.empty()) {
            anyOnDevice = anyOnDevice || mark.onDevice;
            passes.emplace_back(&mark, std::move(actions));
        }
    std::erase_if(passes, [&](const auto& pass) { return pass.first->onDevice != anyOnDevice; });
    std::vector<std::int64_t> starts;
    std::vector<std::set<Action>> steps;
    for (const auto& [mark, actions] : passes) {
        // Passes may stand there in pieces, but the first of a step comes before all others.
        const bool isFirst = starts.empty() || (actions == passes.front().second && steps.back().size() > actions.size());
        if (isFirst) {
            starts.push_back(mark->startNs);
            steps.emplace_back();
        }
        steps.back().insert(actions.begin(), actions.end());
    }
    const bool areAlike =
        std::all_of(steps.begin(), steps.end(), [&](const std::set<Action>& step) { return step == steps.front(); });
    return areAlike && passes.size() > 1 ? starts : std::vector<std::int64_t>();
}

/// Where the work that begins from each of `begins` to the next ends. What is exchanged after it is for the next step's first
/// pass: that step begins with it, and where it was not recorded it is in none.
std::vector<std::int64_t> endsBetween(std::vector<std::int64_t>& begins, const RankEvidence& rank)
{
    std::vector<std::int64_t> ends = begins;
    const auto placeOf = [&begins](std::int64_t ns) {
        const auto next = std::upper_bound(begins.begin(), begins.end(), ns);
        return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, next - begins.begin() - 1));
    };
    const auto lastOf = [&](std::size_t at, std::int64_t endNs) {
        ends[at] = std::max(ends[at], at + 1 < begins.size() ? std::min(endNs, begins[at + 1]) : endNs);
    };
    for (const WorkSpan& span : rank.work)
        lastOf(placeOf(span.startNs), span.endNs);
    for (const MarkSpan& mark : rank.marks)
        lastOf(placeOf(mark.startNs), mark.endNs);
    const std::vector<std::int64_t> passes = begins;
    for (const CommSpan& span : rank.comms) {
        const auto next = std::upper_bound(passes.begin(), passes.end(), span.startNs);
        const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, next - passes.begin() - 1));
        if (span.startNs < ends[at])
            ends[at] = std::max(ends[at], next == passes.end() ? span.endNs : std::min(span.endNs, *next));
        else if (next != passes.end())
            begins[at + 1] = std::min(begins[at + 1], span.startNs);
    }
    return ends;
}

void addStep(RecoveredSteps& result, const RunEvidence& evidence, std::int64_t number, const std::vector<Extent>& extents)
{
    RecoveredStep step{.number = number, .startNs = INT64_MAX, .endNs = INT64_MIN, .rankStartNs = {}, .rankEndNs = {}};
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        step.rankStartNs.push_back(extents[r].first);
        step.rankEndNs.push_back(extents[r].last);
        step.startNs = std::min(step.startNs, extents[r].first);
        step.endNs = std::max(step.endNs, extents[r].last);
    }
    result.steps.push_back(std::move(step));
}

/// Where a rank goes on after an optimizer's kernels, from the first kernel after a backward's on that is one until the last
/// before something else; the first is where its kernels begin. Nothing where they are not told.
std::vector<std::int64_t> startsByOptimizer(const RankEvidence& rank, const KernelWords& words)
{
    const auto is = [&](const WorkSpan& span, KernelWay way, OpClass byLauncher) {
        return span.opClass == byLauncher || (span.opClass == OpClass::other && words.way[span.name] == way);
    };
    std::vector<std::int64_t> starts;
    bool wasBackward = false, isOver = true; // nothing of the step that comes next has begun
    for (const WorkSpan& span : rank.work) {
        if (span.work != DeviceWork::kernel)
            continue;
        if (is(span, KernelWay::optimizer, OpClass::optimizer)) {
            isOver = isOver || wasBackward;
            continue;
        }
        if (isOver) {
            starts.push_back(span.startNs);
            wasBackward = isOver = false;
        }
        wasBackward = wasBackward || is(span, KernelWay::gradient, OpClass::backward) ||
                      is(span, KernelWay::weightGradient, OpClass::backwardWeight);
    }
    return starts;
}

/// Those that all ranks hold. `hosts`: as boundSteps() has it.
bool takeMarkedSteps(RecoveredSteps& result, const RunEvidence& evidence, std::vector<std::vector<HostInStep>>& hosts)
{
    std::vector<std::map<StepKey, StepMark>> marks;
    std::map<StepKey, std::size_t> holders; // of each
    for (const RankEvidence& rank : evidence.ranks) {
        marks.push_back(marksOf(evidence, rank));
        for (const auto& [key, step] : marks.back())
            ++holders[key];
    }
    std::vector<StepKey> held;
    std::size_t leftOut = 0;
    for (const auto& [key, count] : holders) {
        if (count == marks.size()) {
            held.push_back(key);
            continue;
        }
        if (leftOut++ > 0)
            continue;
        std::size_t lacks = 0;
        while (marks[lacks].contains(key))
            ++lacks;
        result.problems.push_back("rank " + std::to_string(evidence.ranks[lacks].rank) + " holds no step " +
                                  std::to_string(key.second) +
                                  (key.first > 0 ? " of its recording " + std::to_string(key.first + 1) : std::string()));
    }
    if (leftOut == 1)
        result.problems.back() += "; the step is left out";
    else if (leftOut > 1)
        result.problems.back() += "; it and " + countedText(static_cast<std::int64_t>(leftOut - 1), "other step") +
                                  " that some rank lacks are left out, of " + std::to_string(holders.size());
    if (held.empty())
        return false;
    const std::map<StepKey, StepMark>& first = marks.front();
    std::stable_sort(held.begin(), held.end(),
                     [&](const StepKey& a, const StepKey& b) { return first.at(a).startNs < first.at(b).startNs; });
    for (const StepKey& key : held) {
        std::vector<Extent> extents;
        std::vector<HostInStep>& host = hosts.emplace_back();
        for (const std::map<StepKey, StepMark>& ofRank : marks) {
            const StepMark& mark = ofRank.at(key);
            extents.push_back({mark.startNs, mark.endNs});
            host.emplace_back(mark.fromNs, mark.toNs);
        }
        addStep(result, evidence, key.second, extents);
    }
    const std::string& word = evidence.ranks.front().stepWord;
    const std::string ofRanks = " of " + countedText(static_cast<std::int64_t>(evidence.ranks.size()), "rank");
    result.evidence = word.empty() ? std::string(kStepWord) + " marks" + ofRanks
                                   : "ranges named “" + word + " " + std::to_string(held.front().second) + "” and on" + ofRanks;
    result.sure = word.empty() ? 0.98 : 0.9;
    return true;
}

/// `hosts`: of steps that are marked, as boundSteps() has it. `mayBeCut`: as findUnlikeSteps() has it.
RecoveredSteps stepsOf(const RunEvidence& evidence, std::vector<std::vector<HostInStep>>& hosts, bool& mayBeCut)
{
    RecoveredSteps result;
    if (evidence.ranks.empty())
        return result;
    if (takeMarkedSteps(result, evidence, hosts))
        return result;

    std::vector<Extent> whole;
    for (const RankEvidence& rank : evidence.ranks)
        whole.push_back(extentOf(rank));
    std::size_t count = 0;
    std::vector<std::vector<std::int64_t>> begins(
        evidence.ranks.size()); // of each step's first pass, or period's first collective
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        begins[r] = startsByPasses(evidence, evidence.ranks[r]);
        count = r == 0 ? begins[r].size() : std::min(count, begins[r].size());
    }
    const bool isOnce = count == 1 && std::all_of(begins.begin(), begins.end(), [](const auto& of) { return of.size() == 1; });
    if (isOnce) { // an order of collectives that repeats in it is of its micro-batches
        addStep(result, evidence, 0, whole);
        result.evidence = "each pass of a micro-batch is there once";
        result.sure = 0.9;
        return result;
    }
    if (count >= 2) {
        std::vector<std::vector<std::int64_t>> ends;
        for (std::size_t r = 0; r < evidence.ranks.size(); ++r)
            ends.push_back(endsBetween(begins[r], evidence.ranks[r]));
        for (std::size_t k = 0; k < count; ++k) {
            std::vector<Extent> extents;
            for (std::size_t r = 0; r < evidence.ranks.size(); ++r) { // counted from the end, where all stop
                const std::size_t at = begins[r].size() - count + k;
                extents.push_back({at == 0 ? std::min(whole[r].first, begins[r][0]) : begins[r][at], ends[r][at]});
            }
            addStep(result, evidence, static_cast<std::int64_t>(k), extents);
        }
        result.evidence = "the passes of each micro-batch come again with every step";
        result.sure = 0.9;
        return result;
    }
    const KernelWords words(evidence);
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        begins[r] = startsByOptimizer(evidence.ranks[r], words);
        count = r == 0 || begins[r].size() == count ? begins[r].size() : 0;
    }
    const bool endWithOptimizer =
        count >= 2 && haveTransfersAlike(evidence, begins) && areAlikeInWork(evidence.ranks.front(), begins.front());
    if (!endWithOptimizer) {
        count = 0;
        begins.assign(evidence.ranks.size(), {});
    }
    const std::size_t period = endWithOptimizer ? 0 : periodOf(evidence.ranks.front());
    if (period > 0) {
        const std::size_t most = collectivesOf(evidence.ranks.front());
        for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
            // Who began to record later lacks the first: all stop together.
            std::size_t at = (most + period - collectivesOf(evidence.ranks[r]) % period) % period;
            for (const CommSpan& span : evidence.ranks[r].comms)
                if (!isTransfer(span.exchange) && at++ % period == 0)
                    begins[r].push_back(span.startNs);
            count = r == 0 ? begins[r].size() : std::min(count, begins[r].size());
        }
        // The shortest order that repeats may be a layer's: a step's holds what happens once in it, and all of its transfers.
        if (count > 64 || !haveTransfersAlike(evidence, begins) ||
            (count >= 2 && !areAlikeInWork(evidence.ranks.front(), begins.front())))
            count = 0;
    }
    if (count >= 2) {
        mayBeCut = true;
        std::vector<std::int64_t> ends;
        for (std::size_t r = 0; r < evidence.ranks.size(); ++r)
            ends.push_back(endWithOptimizer ? whole[r].last : beginWithWork(begins[r], evidence.ranks[r], whole[r]));
        for (std::size_t k = 0; k < count; ++k) {
            std::vector<Extent> extents;
            for (std::size_t r = 0; r < evidence.ranks.size(); ++r) { // counted from the end
                const std::size_t at = begins[r].size() - count + k;
                const bool isWhole = at == 0 && endWithOptimizer;
                extents.push_back(
                    {isWhole ? whole[r].first : begins[r][at], at + 1 < begins[r].size() ? begins[r][at + 1] : ends[r]});
            }
            addStep(result, evidence, static_cast<std::int64_t>(k), extents);
        }
        result.evidence = endWithOptimizer ? "no marks; an optimizer's kernels end each step"
                                           : "no marks; the order of collectives begins anew after " +
                                                 (period == 1 ? std::string("each") : "every " + std::to_string(period)) +
                                                 "; what ends the last is not recorded: it is as long as what was recorded of it";
        result.sure = endWithOptimizer ? 0.8 : 0.5;
    } else {
        if (std::any_of(whole.begin(), whole.end(), [](const Extent& e) { return e.first > e.last; })) {
            result.problems.emplace_back("no kernel, collective or annotation of a rank was recorded: no steps were recovered");
            return result;
        }
        const std::size_t windows = evidence.ranks.front().windows.size();
        const bool areAsMany = std::all_of(evidence.ranks.begin(), evidence.ranks.end(),
                                           [windows](const RankEvidence& rank) { return rank.windows.size() == windows; });
        if (windows >= 2 && areAsMany) {
            for (std::size_t k = 0; k < windows; ++k) {
                std::vector<Extent> extents;
                for (const RankEvidence& rank : evidence.ranks)
                    extents.push_back(extentOf(rank, rank.windows[k]));
                if (std::none_of(extents.begin(), extents.end(), [](const Extent& e) { return e.first > e.last; }))
                    addStep(result, evidence, static_cast<std::int64_t>(k), extents);
            }
            result.areGuessed = true;
            result.evidence =
                "no marks: each of " + std::to_string(windows) + " recordings, made one after another, is taken for one step";
            result.sure = 0.3;
            return result;
        }
        addStep(result, evidence, 0, whole);
        result.areGuessed = true;
        result.evidence = "no marks, and no order of collectives repeats: all that was recorded, from the first kernel or "
                          "collective to the last, is taken for one step";
        result.sure = 0.3;
    }
    return result;
}

} // namespace

bool RecoveredStep::overlapsNext() const
{
    constexpr double kNoticeable = 0.1;
    return static_cast<double>(overlapNs) > kNoticeable * static_cast<double>(endNs - startNs);
}

std::string_view RecoveredStep::unlikeText() const
{
    return isPart ? "recorded in part" : isOutlier ? "unlike the others" : "";
}

std::size_t RecoveredSteps::typical() const
{
    constexpr double kAsLong = 0.01;            // of the median
    const auto unlike = [this](std::size_t i) { // in length, then in place
        const double apart = std::abs(steps[i].seconds() - medianSeconds);
        const std::size_t middle = (steps.size() - 1) / 2;
        return std::pair(apart <= kAsLong * medianSeconds ? 0 : apart, std::max(i, middle) - std::min(i, middle));
    };
    const std::vector<std::size_t> among = usual();
    const auto found =
        std::min_element(among.begin(), among.end(), [&](std::size_t a, std::size_t b) { return unlike(a) < unlike(b); });
    return found == among.end() ? 0 : *found;
}

std::vector<std::size_t> RecoveredSteps::usual() const
{
    const bool areAllUnlike = std::all_of(steps.begin(), steps.end(), [](const RecoveredStep& step) { return step.isOutlier; });
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (areAllUnlike || !steps[i].isOutlier)
            indices.push_back(i);
    return indices;
}

double RecoveredSteps::usualSeconds() const
{
    std::vector<double> seconds;
    for (const std::size_t i : usual())
        seconds.push_back(steps[i].seconds());
    std::sort(seconds.begin(), seconds.end());
    return seconds.empty() ? 0 : quantileOf(seconds, 0.5);
}

RecoveredSteps recoverSteps(const RunEvidence& evidence, bool isOneClock)
{
    std::vector<std::vector<HostInStep>> hosts;
    bool mayBeCut = false;
    RecoveredSteps result = stepsOf(evidence, hosts, mayBeCut);
    result.areMarked = !mayBeCut && !result.areGuessed;
    for (RecoveredStep& step : result.steps)
        step.isOneClock = isOneClock;
    boundSteps(result, evidence, hosts, isOneClock);
    findUnlikeSteps(result, evidence, mayBeCut);
    return result;
}

} // namespace sim
