#include "sim/schedule/families/families.h"

#include "sim/error.h"
#include "sim/schedule/order_parts.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sim {

/// A family is a file of this folder, and a line here, in the order of the schema's words (assets/scenario.schema.json).
#define RANKSCOPE_SCHEDULE_FAMILIES(FAMILY)                                                                                      \
    FAMILY(gpipeFamily)                                                                                                          \
    FAMILY(oneFOneBFamily)                                                                                                       \
    FAMILY(interleavedFamily)                                                                                                    \
    FAMILY(loopedBfsFamily)                                                                                                      \
    FAMILY(zbH1Family)                                                                                                           \
    FAMILY(zbH2Family)                                                                                                           \
    FAMILY(zb1pFamily)                                                                                                           \
    FAMILY(zb2pFamily)                                                                                                           \
    FAMILY(zbVFamily)                                                                                                            \
    FAMILY(vHalfFamily)                                                                                                          \
    FAMILY(vMinFamily)                                                                                                           \
    FAMILY(interleavedZbFamily)                                                                                                  \
    FAMILY(dualpipeFamily)                                                                                                       \
    FAMILY(dualpipeVFamily)                                                                                                      \
    FAMILY(seq1f1bFamily)                                                                                                        \
    FAMILY(autoFamily)                                                                                                           \
    FAMILY(customFamily)

#define RANKSCOPE_DECLARE(family) ScheduleFamily family();
RANKSCOPE_SCHEDULE_FAMILIES(RANKSCOPE_DECLARE)
#undef RANKSCOPE_DECLARE

namespace {

/// 12 bytes each: what still fits a laptop's memory.
constexpr std::int64_t kMostActions = 100'000'000;
constexpr int kMostSlices = 4096;

[[noreturn]] void refuseUnknown(std::string_view kind)
{
    std::vector<std::string> kinds;
    std::string known;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        kinds.emplace_back(family.kind);
        known += (known.empty() ? "" : ", ") + kinds.back();
    }
    throw Error("there is no schedule " + quotedText(kind) + nearestWords(kind, kinds) + "; known: " + known);
}

std::string counted(std::int64_t count, const std::string& noun)
{
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

PipelineNumbers numbersOf(const ScheduleFamily& family, const ScheduleRequest& request)
{
    const int group = request.microbatchGroup > 0 || !family.dealsInGroups()
                          ? request.microbatchGroup
                          : family.usualGroup(request.ranks, request.microbatches);
    return {.ranks = request.ranks,
            .chunks = request.virtualStages,
            .lines = static_cast<std::int64_t>(request.customActions.size()),
            .group = group,
            .microbatches = request.microbatches};
}

std::optional<std::string> slotsUnmet(const ScheduleFamily& family, const ScheduleRequest& request)
{
    const auto fits = [&](int ranks) { return family.slots(ranks, request.microbatches) <= kMostSlots; };
    if (family.slots == nullptr || fits(request.ranks))
        return std::nullopt;
    int good = 0, bad = request.ranks;
    while (bad - good > 1) {
        const int middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return request.kind + " on " + std::to_string(request.ranks) + " pipeline ranks with " +
           microbatchesText(request.microbatches) + " is planned over more than " +
           std::to_string(static_cast<std::int64_t>(kMostSlots)) + " slots, as they grow with the square of the ranks" +
           (good > 0 ? "; nearest: " + std::to_string(good) : "");
}

/// What takes too long or too much memory to be made.
std::optional<std::string> sizeUnmet(const ScheduleFamily& family, const ScheduleRequest& request)
{
    const std::int64_t stages = std::int64_t{request.ranks} * request.virtualStages;
    if (family.mostStages > 0 && stages > family.mostStages)
        return request.kind + " looks for an order of at most " + std::to_string(family.mostStages) + " stages, asked for " +
               std::to_string(stages) +
               (request.virtualStages <= family.mostStages
                    ? "; nearest: " + std::to_string(family.mostStages / request.virtualStages) + " pipeline ranks"
                    : "");
    return slotsUnmet(family, request);
}

/// "; nearest: 333 micro-batches": the most that the family takes of those up to `most`.
std::string nearestMicrobatches(const ScheduleFamily& family, ScheduleRequest request, std::int64_t most)
{
    const auto isLegal = [&](std::int64_t microbatches) {
        request.microbatches = static_cast<int>(microbatches);
        return !family.firstUnmet(numbersOf(family, request));
    };
    const std::vector<std::int64_t> nearest = nearestValues(most + 1, 1, most, isLegal);
    return nearest.empty() ? std::string() : "; nearest: " + countedText(nearest.front(), "micro-batch");
}

/// What no trait can make legal: sizes below 1, more actions than there is memory for, choices that the family does not offer.
std::optional<std::string> choicesUnmet(const ScheduleFamily& family, const ScheduleRequest& request)
{
    if (request.ranks < 1)
        return request.kind + " needs at least 1 pipeline rank; it has " + std::to_string(request.ranks);
    if (request.microbatches < 1)
        return request.kind + " needs at least 1 micro-batch; it has " + std::to_string(request.microbatches);
    // Of one micro-batch; products that need not fit 64 bits.
    const double actions = 3.0 * request.ranks * std::max(request.virtualStages, 1) * std::max(request.slices, 1);
    if (actions * request.microbatches > static_cast<double>(kMostActions)) {
        const auto most = static_cast<std::int64_t>(static_cast<double>(kMostActions) / actions);
        return request.kind + " on " + countedText(request.ranks, "pipeline rank") + " with " +
               countedText(request.virtualStages, "virtual stage") + " and " + countedText(request.microbatches, "micro-batch") +
               " is more than " + numberText(static_cast<double>(kMostActions), Unit::count) + " actions" +
               nearestMicrobatches(family, request, most);
    }
    if (request.overlapExpertComm && !family.overlapsExperts)
        return request.kind + " has no order that overlaps expert communication by choice; " +
               kindsWith([](const ScheduleFamily& of) { return of.overlapsExperts; }) + " have";
    if (request.slices != 1 && !family.cutsSequences())
        return request.kind + " runs whole sequences, asked for " + std::to_string(request.slices) + " slices; nearest: 1, or " +
               kindsWith([](const ScheduleFamily& of) { return of.cutsSequences(); });
    if (request.slices < 1 || request.slices > kMostSlices)
        return request.kind + " cuts a sequence into 1 to " + std::to_string(kMostSlices) + " slices, asked for " +
               std::to_string(request.slices);
    if (!request.customActions.empty() && !family.isWrittenOut)
        return request.kind + " makes its own actions; " + std::to_string(request.customActions.size()) +
               " lines of actions are given: remove them, or use custom";
    if (request.microbatchGroup < 0 && family.dealsInGroups())
        return "the interleaving group is " + std::to_string(request.microbatchGroup) +
               "; it must be positive, or 0 for the usual one";
    return std::nullopt;
}

} // namespace

std::optional<PipelineNumber> ScheduleFamily::firstUnmet(const PipelineNumbers& numbers) const
{
    if (numbers.ranks < 1 || (takesRanks != nullptr && !takesRanks(numbers.ranks)))
        return PipelineNumber::ranks;
    if (!chunks.holds(numbers.chunks))
        return PipelineNumber::chunks;
    if (isWrittenOut && numbers.lines != numbers.ranks)
        return PipelineNumber::lines;
    if (dealsInGroups() && numbers.group < numbers.ranks && numbers.group != numbers.microbatches)
        return PipelineNumber::group;
    if (numbers.microbatches < 1 || (microbatches.isMet != nullptr && !microbatches.isMet(numbers)))
        return PipelineNumber::microbatches;
    return std::nullopt;
}

std::optional<UnmetDemand> ScheduleFamily::unmetDemand(const PipelineNumbers& numbers, const std::string& group) const
{
    const std::optional<PipelineNumber> about = firstUnmet(numbers);
    if (!about)
        return std::nullopt;
    UnmetDemand out;
    out.about = *about;
    const std::string name(kind);
    const std::string asks = name + " on pp " + std::to_string(numbers.ranks) + " wants ";
    const auto with = [&](std::int64_t PipelineNumbers::*number, std::int64_t value) {
        PipelineNumbers changed = numbers;
        changed.*number = value;
        return firstUnmet(changed);
    };
    const bool fillsNone = numbers.microbatches < numbers.ranks;
    const auto nearestGroups = [&] {
        return nearestValues(numbers.group, std::min(numbers.ranks, numbers.microbatches), numbers.microbatches,
                             [&](std::int64_t size) { return !with(&PipelineNumbers::group, size); });
    };
    switch (*about) {
    case PipelineNumber::ranks:
        out.has = numbers.ranks;
        out.says = name + " " + std::string(wantsRanks);
        out.nearest = nearestValues(numbers.ranks, 1, INT32_MAX, [&](std::int64_t ranks) { return takesRanks(ranks); });
        out.otherKind = numbers.ranks == 1 ? "1f1b" : "";
        break;
    case PipelineNumber::chunks: {
        const bool tooFew = numbers.chunks < chunks.least;
        const int nearest = tooFew ? chunks.least : chunks.most;
        out.has = numbers.chunks;
        out.says = name + " has " +
                   (chunks.least == chunks.most ? "exactly "
                    : tooFew                    ? "at least "
                                                : "at most ") +
                   counted(nearest, "chunk") + " a rank";
        out.nearest = {nearest};
        out.otherKind = chunks.most == 1 ? "interleaved-1f1b" : "1f1b";
        break;
    }
    case PipelineNumber::lines:
        out.has = numbers.lines;
        out.says = numbers.lines == 0 ? name + " needs \"actions\": one comma-separated line for each of the " +
                                            std::to_string(numbers.ranks) + " pipeline ranks, such as 0F0,0B0"
                                      : counted(numbers.lines, "line") + " for " + std::to_string(numbers.ranks) +
                                            " pipeline ranks; nearest: pp " + std::to_string(numbers.lines);
        break;
    case PipelineNumber::group:
        out.has = numbers.group;
        out.says = asks + "groups of at least " + std::to_string(numbers.ranks) +
                   (fillsNone ? ", or one of all " + std::to_string(numbers.microbatches) + " micro-batches" : "");
        out.nearest = nearestGroups();
        break;
    case PipelineNumber::microbatches:
        out.has = numbers.microbatches;
        out.says = asks + microbatches.text(numbers, group);
        out.nearest = nearestValues(numbers.microbatches, dealsInGroups() ? numbers.group : 1, INT32_MAX,
                                    [&](std::int64_t count) { return !with(&PipelineNumbers::microbatches, count); });
        if (dealsInGroups())
            out.groups = nearestGroups();
        break;
    }
    return out;
}

std::optional<std::string> ScheduleFamily::unmet(const ScheduleRequest& request) const
{
    if (auto problem = choicesUnmet(*this, request))
        return problem;
    const PipelineNumbers numbers = numbersOf(*this, request);
    const auto demand = unmetDemand(numbers, std::to_string(numbers.group) + (request.microbatchGroup == 0 ? " (default)" : ""));
    if (!demand)
        return unmetActions != nullptr ? unmetActions(request) : sizeUnmet(*this, request);
    if (demand->about == PipelineNumber::lines)
        return demand->says;
    return demand->says + "; it has " + std::to_string(demand->has) + nearestText(demand->nearest) +
           (demand->groups.empty() ? "" : ", or groups of " + numbersText(demand->groups)) +
           (demand->otherKind.empty() ? "" : ", or " + std::string(demand->otherKind));
}

std::span<const ScheduleFamily> scheduleFamilies()
{
#define RANKSCOPE_CALL(family) family(),
    static const std::array families = {RANKSCOPE_SCHEDULE_FAMILIES(RANKSCOPE_CALL)};
#undef RANKSCOPE_CALL
    return families;
}

const ScheduleFamily* findScheduleFamily(std::string_view kind)
{
    const auto families = scheduleFamilies();
    const auto found =
        std::find_if(families.begin(), families.end(), [&](const ScheduleFamily& family) { return family.kind == kind; });
    return found == families.end() ? nullptr : &*found;
}

const ScheduleFamily& scheduleFamily(std::string_view kind)
{
    const ScheduleFamily* const family = findScheduleFamily(kind);
    if (family == nullptr)
        refuseUnknown(kind);
    return *family;
}

std::string kindsWith(bool (*trait)(const ScheduleFamily&))
{
    std::string text;
    for (const ScheduleFamily& family : scheduleFamilies())
        if (trait(family))
            text += (text.empty() ? "" : " and ") + std::string(family.kind);
    return text;
}

Schedule makeSchedule(const ScheduleRequest& request)
{
    const ScheduleFamily& family = scheduleFamily(request.kind);
    if (const auto problem = family.unmet(request))
        throw Error(*problem);
    return family.make(request);
}

} // namespace sim
