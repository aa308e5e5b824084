#include "sim/schedule/families.h"

#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/scenario/quoted.h"
#include "sim/schedule/family_parts.h"
#include "sim/schedule/request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <sstream>

namespace sim {

namespace {

/// 12 bytes each: what still fits a laptop's memory.
constexpr std::int64_t kMostActions = 100'000'000;

/// In the contract's order.
const std::array<ScheduleFamily, 17>& table()
{
    static const std::array<ScheduleFamily, 17> families = {
        gpipeFamily(),    oneFOneBFamily(),  interleavedFamily(), loopedBfsFamily(), zbH1Family(),   zbH2Family(),
        zb1pFamily(),     zb2pFamily(),      zbVFamily(),         vHalfFamily(),     vMinFamily(),   interleavedZbFamily(),
        dualpipeFamily(), dualpipeVFamily(), seq1f1bFamily(),     autoFamily(),      customFamily(),
    };
    return families;
}

/// Edits (insert, delete, replace) that turn one word into the other.
std::size_t editDistance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

[[noreturn]] void refuseUnknown(const std::string& kind)
{
    const auto families = scheduleFamilies();
    const auto nearest =
        std::min_element(families.begin(), families.end(), [&](const ScheduleFamily& a, const ScheduleFamily& b) {
            return editDistance(kind, a.kind) < editDistance(kind, b.kind);
        });
    std::string known;
    for (const ScheduleFamily& family : families)
        known += (known.empty() ? "" : ", ") + std::string(family.kind);
    throw Error("there is no schedule " + quotedText(kind) + "; nearest: \"" + std::string(nearest->kind) +
                "\"; known: " + known);
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

std::optional<std::string> slotsUnmet(const ScheduleRequest& request, double (*slotsOf)(double ranks, double microbatches))
{
    const auto fits = [&](int ranks) { return slotsOf(ranks, request.microbatches) <= kMostSlots; };
    if (fits(request.ranks))
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

Schedule loopSchedule(const ScheduleRequest& request)
{
    Schedule schedule;
    schedule.kind = request.kind;
    schedule.ranks = request.ranks;
    schedule.virtualStages = request.virtualStages;
    schedule.microbatches = request.microbatches;
    for (int stage = 0; stage < request.ranks * request.virtualStages; ++stage)
        schedule.stageToRank.push_back(stage % request.ranks);
    schedule.actions.resize(static_cast<std::size_t>(request.ranks));
    return schedule;
}

Schedule vSchedule(const ScheduleRequest& request)
{
    Schedule schedule = loopSchedule(request);
    for (int stage = 0; stage < schedule.stages(); ++stage)
        schedule.stageToRank[static_cast<std::size_t>(stage)] = stage < request.ranks ? stage : schedule.stages() - 1 - stage;
    return schedule;
}

std::string microbatchesText(int count)
{
    return std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches");
}

std::span<const ScheduleFamily> scheduleFamilies()
{
    return table();
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

Schedule makeScheduleOf(const ScheduleRequest& request)
{
    try {
        return makeSchedule(request);
    } catch (const Error& error) {
        const char* const pointer = request.kind == "custom" ? "/schedule/actions" : "/schedule/kind";
        std::vector<Problem> problems;
        std::istringstream lines(error.what());
        for (std::string line; std::getline(lines, line);)
            problems.push_back({"", pointer, line});
        throw ScenarioError(std::move(problems));
    }
}

} // namespace sim
