#include "sim/schedule/families/families.h"

#include "sim/error.h"
#include "sim/schedule/families/family_parts.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sim {

/// A family is a file of this folder, and a line here, in the contract's order.
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

[[noreturn]] void refuseUnknown(const std::string& kind)
{
    std::vector<std::string> kinds;
    std::string known;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        kinds.emplace_back(family.kind);
        known += (known.empty() ? "" : ", ") + kinds.back();
    }
    throw Error("there is no schedule " + quotedText(kind) + nearestWords(kind, kinds) + "; known: " + known);
}

} // namespace

std::optional<std::string> basicsUnmet(const ScheduleRequest& request, int minVirtualStages, int maxVirtualStages)
{
    if (request.ranks < 1)
        return request.kind + " needs at least 1 pipeline rank, it has " + std::to_string(request.ranks);
    if (request.microbatches < 1)
        return request.kind + " needs at least 1 micro-batch, it has " + std::to_string(request.microbatches);
    const double stages = 1.0 * request.ranks * std::max(request.virtualStages, 1); // products that need not fit 64 bits
    if (3 * stages * request.microbatches * std::max(request.slices, 1) > static_cast<double>(kMostActions))
        return request.kind + " on " + std::to_string(request.ranks) + " pipeline ranks with " +
               std::to_string(request.virtualStages) + " virtual stages and " + microbatchesText(request.microbatches) +
               " is more than " + std::to_string(kMostActions) + " actions";
    if (request.overlapExpertComm && request.kind != "interleaved-1f1b" && request.kind != "1f1b")
        return request.kind + " has no order that overlaps expert communication by choice; 1f1b and interleaved-1f1b have";
    if (request.slices != 1 && request.kind != "seq-1f1b")
        return request.kind + " runs whole sequences, asked for " + std::to_string(request.slices) +
               " slices; nearest: 1, or seq-1f1b";
    if (!request.customActions.empty())
        return request.kind + " makes its own actions; " + std::to_string(request.customActions.size()) +
               " lines of actions are given: remove them, or use custom";
    const int chunks = request.virtualStages;
    if (chunks >= minVirtualStages && (maxVirtualStages == 0 || chunks <= maxVirtualStages))
        return std::nullopt;
    const bool tooFew = chunks < minVirtualStages;
    const std::string limit = minVirtualStages == maxVirtualStages ? "exactly " : tooFew ? "at least " : "at most ";
    const int nearest = tooFew ? minVirtualStages : maxVirtualStages;
    return request.kind + " has " + limit + std::to_string(nearest) + (nearest == 1 ? " virtual stage" : " virtual stages") +
           " a rank, asked for " + std::to_string(chunks) + "; nearest: " + std::to_string(nearest) +
           (maxVirtualStages == 1 ? ", or interleaved-1f1b" : "") + (minVirtualStages == 2 ? ", or 1f1b" : "");
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

Schedule makeSchedule(const ScheduleRequest& request)
{
    const ScheduleFamily* family = findScheduleFamily(request.kind);
    if (family == nullptr)
        refuseUnknown(request.kind);
    if (const auto problem = family->unmet(request))
        throw Error(*problem);
    return family->make(request);
}

} // namespace sim
