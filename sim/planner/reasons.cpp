#include "sim/planner/reasons.h"

#include "sim/legal/legal.h"
#include "sim/memory_limit.h"
#include "sim/scenario/pointer_text.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <utility>

namespace sim {
namespace {

std::string withDigits(const char* format, double value)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}
std::string secondsText(double seconds)
{
    return seconds >= 1 ? withDigits("%.3f s", seconds) : withDigits("%.2f ms", seconds * 1e3);
}
std::string gibText(double bytes, int decimals = 1)
{
    constexpr double kBytesPerMib = kBytesPerGib / 1024;
    const auto [size, name] = bytes < kBytesPerMib   ? std::pair(1024.0, " KiB")
                              : bytes < kBytesPerGib ? std::pair(kBytesPerMib, " MiB")
                                                     : std::pair(kBytesPerGib, " GiB");
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", decimals, bytes / size);
    return std::string(text.data()) + name;
}
/// "93.1 GiB of 80.0 GiB", with the decimals that show it to be more.
std::string tooMuchText(double bytes, const char* of, double capacityBytes)
{
    const int decimals = decimalsBeyond(bytes / kBytesPerGib, capacityBytes / kBytesPerGib, 1);
    return gibText(bytes, decimals) + of + gibText(capacityBytes, decimals);
}

/// "bubble +120.12 ms, exposed tp -40.20 ms": the largest first, of as many tokens, rounded so that they add up to the rounded
/// difference. What is nothing then is left out.
std::string termsText(const PlannedLayout& other, const PlannedLayout& first)
{
    constexpr double kShownNs = 1e4; // hundredths of a millisecond
    std::vector<double> deltas;
    for (const StepPart part : kStepParts)
        deltas.push_back(
            (static_cast<double>(other.use[part]) * other.batches - static_cast<double>(first.use[part]) * first.batches) /
            kShownNs);
    const std::vector<std::int64_t> shown = wholesThatAddUp(deltas);
    std::vector<std::pair<std::int64_t, StepPart>> terms;
    std::size_t place = 0;
    for (const StepPart part : kStepParts)
        if (const std::int64_t delta = shown[place++]; delta != 0)
            terms.emplace_back(delta, part);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
    std::string text;
    for (const auto& [delta, part] : terms)
        text += (text.empty() ? "" : ", ") + std::string(factsOf(part).name) + (delta > 0 ? " +" : " −") +
                secondsText(std::abs(static_cast<double>(delta)) * kShownNs * 1e-9);
    return text;
}

} // namespace

const char* planReasonName(PlanReason reason)
{
    constexpr std::array kNames{"rule", "memory", "floor", "slower", "open"};
    return kNames[asIndex(reason)];
}

namespace {

/// As the reader has it: where all stages are filled, nobody has said what each has; groups are the usual ones until somebody
/// says how large.
class AsRead : public Provenance {
public:
    AsRead(bool fillsAll, bool saysGroup, int gpus) : m_fillsAll(fillsAll), m_saysGroup(saysGroup), m_gpus(gpus) {}
    bool isGiven(std::string_view key) const override { return !m_fillsAll || key != "/schedule/layers_per_stage"; }
    std::string originOf(std::string_view key) const override
    {
        return !m_saysGroup && key == "/schedule/microbatch_group" ? " (default)" : "";
    }
    int ranks() const override { return m_gpus; }

private:
    bool m_fillsAll, m_saysGroup;
    int m_gpus;
};

} // namespace

std::string notDividing(std::string_view pointer, std::string_view value, int gpus,
                        const std::function<bool(std::int64_t)>& isLegal)
{
    const std::string key = dotted(std::string(pointer));
    int size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    const bool isSize = key == "layout.tp" || key == "layout.cp" || key == "layout.pp" || key == "layout.dp" ||
                        key == "layout.ep" || key == "layout.etp";
    if (!isSize || error != std::errc{} || end != value.data() + value.size() || size < 1 || gpus < 1 || gpus % size == 0)
        return {};
    return std::to_string(size) + " does not divide " + std::to_string(gpus) +
           nearestNumbers(size, 1, gpus, [&](std::int64_t each) { return gpus % each == 0 && (!isLegal || isLegal(each)); });
}

/// "tp 4 x pp 8 = 32 does not divide 16", of the sizes among these that are held: each does, and together they do not. `isWorld`:
/// where all are held they are to be as many as there are GPUs.
std::string productNotDividing(const PlanSpace& space, std::initializer_list<const char*> sizes, bool isWorld)
{
    const std::map<std::string, std::string> held = space.heldFixed();
    const auto isHeld = [&](const char* size) { return held.contains("/layout/" + std::string(size)); };
    std::int64_t product = 1;
    std::string names;
    for (const char* size : sizes)
        if (const auto found = held.find("/layout/" + std::string(size)); found != held.end() && found->second != "1") {
            product *= std::stoi(found->second);
            names += (names.empty() ? "" : " x ") + std::string(size) + " " + found->second;
        }
    if (space.gpus % product != 0)
        return names + " = " + std::to_string(product) + " does not divide " + std::to_string(space.gpus);
    const bool isAll = isWorld && std::all_of(sizes.begin(), sizes.end(), isHeld) && product != space.gpus;
    return isAll ? (names.empty() ? "every size is 1" : names + " = " + std::to_string(product)) + ", not " +
                       std::to_string(space.gpus)
                 : std::string();
}

std::string LeastMemory::text(int gpusOfRequest) const
{
    const std::string fewer = gpus > gpusOfRequest ? "; fewer than " + numberText(static_cast<double>(gpus), Unit::count) +
                                                         " GPUs cannot hold its parameters, gradients and optimizer states"
                                                   : "; with fewer settings fixed, or more sharded, it might fit";
    return "the fullest GPU of any holds at least " + tooMuchText(gib * kBytesPerGib, " of ", hasGib * kBytesPerGib) + fewer;
}

std::string whyNoGrid(const PlanSpace& space)
{
    const auto cutsModel = [&](std::int64_t tp) {
        Scenario scenario = space.base;
        scenario.layout.tp = static_cast<int>(tp);
        const std::vector<Reason> reasons = judge(scenario);
        return std::none_of(reasons.begin(), reasons.end(),
                            [](const Reason& each) { return !each.isWarning && each.key == "/layout/tp"; });
    };
    for (const auto& [pointer, value] : space.heldFixed()) {
        const bool isTp = dotted(pointer) == "layout.tp";
        const std::function<bool(std::int64_t)> isLegal = isTp ? cutsModel : std::function<bool(std::int64_t)>();
        if (std::string text = notDividing(pointer, value, space.gpus, isLegal); !text.empty())
            return text;
    }
    std::string text = productNotDividing(space, {"tp", "cp", "pp", "dp"}, true);
    return !text.empty() ? text : productNotDividing(space, {"ep", "etp", "pp"}, false);
}

std::string whyIllegal(const PlanSpace& space, const PlanGrid& grid)
{
    const std::vector<int> microBatches = space.microBatches(grid);
    Choice choice;
    choice.grid = grid;
    choice.microBatch = microBatches.empty() ? 1 : microBatches.front();
    choice.sequenceParallel = space.sequenceParallels(grid).front();
    choice.zeroStage = space.zeroStages(grid).front();
    choice.dpShard = space.shards(grid, choice.zeroStage).front();
    choice.recompute = space.recomputes().front();
    choice.recomputeLayers = space.free.recompute ? 0 : space.held.recomputeLayers;
    if (const std::vector<int> possible = space.batches(grid, choice.microBatch); !possible.empty())
        choice.batch = possible.front();
    std::string firstMessage;
    // The batch of the document, and those that it begins with.
    std::vector<int> batches = space.request().rampBatches;
    batches.insert(batches.begin(), choice.batch > 0 ? choice.batch : space.base.training.globalBatchSize);
    for (int kind = 0; kind < static_cast<int>(space.kinds.size()); ++kind) {
        const std::vector<int> counts = space.chunkCounts(grid, kind);
        if (counts.empty() && grid.pp == 1) // not searched there
            continue;
        choice.kind = kind;
        choice.chunks = counts.empty() ? space.familyOf(choice).chunks.least : counts.front();
        Scenario scenario = space.scenarioOf(choice);
        for (const int batch : batches) {
            scenario.training.globalBatchSize = batch;
            const std::vector<Reason> reasons =
                judge(scenario, AsRead(space.fillsAllStages(choice), space.saysGroup(), space.gpus));
            const auto reason = std::find_if(reasons.begin(), reasons.end(), [](const Reason& each) { return !each.isWarning; });
            if (reason == reasons.end())
                continue;
            const std::string when = batch == batches.front() ? "" : ", while the batch is " + std::to_string(batch);
            if (firstMessage.empty() || reason->key.starts_with("/layout"))
                firstMessage = reason->key + ": " + reason->message + when;
            if (reason->key.starts_with("/layout") || reason->key.starts_with("/training"))
                return firstMessage;
            break;
        }
    }
    return firstMessage.empty() ? "no schedule takes these numbers" : firstMessage;
}

RejectedGrid rejectionOf(const GridRecord& record, const PlannedLayout* first, const Chosen& chosen)
{
    RejectedGrid rejected{.grid = record.grid};
    const auto because = [&](PlanReason reason, std::string text) {
        rejected.reason = reason;
        rejected.text = std::move(text);
        return rejected;
    };
    if (!record.isSurveyed)
        return because(PlanReason::open, "not looked at yet: the search was stopped before");
    if (record.legal == 0)
        return because(PlanReason::rule, record.rule);
    const bool hasOpen = std::isfinite(record.openKey);
    const auto keyText = [&](double key) { return chosen.byHeadroom ? gibText(key) : secondsText(key * 1e-9); };
    const std::string verb = chosen.byHeadroom ? " holds " : " takes ";
    const double openSeconds = std::isfinite(record.openNs) ? record.openNs * 1e-9 : 0;
    rejected.leastFloorSeconds = hasOpen ? std::min(openSeconds, record.leastStepSeconds) : 0;
    if (!hasOpen && std::isfinite(record.leastStepSeconds)) // all that may fit was simulated
        rejected.leastFloorSeconds = record.leastStepSeconds;
    // What of it was not looked at to the end, and may be better than the first.
    const bool mayWin = hasOpen && (first == nullptr || record.openKey < chosen.bestKey);
    std::string openText = "its floor is " + (chosen.byHeadroom ? gibText(record.openKey) + " and " : std::string()) +
                           secondsText(openSeconds) + chosen.per;
    if (record.tooLarge > 0)
        openText +=
            "; " + std::to_string(record.tooLarge) + " of it cannot be laid out or simulated here: " + record.tooLargeText;
    if (record.best && first != nullptr) {
        rejected.best = record.best;
        const double delta = record.bestKey - chosen.bestKey;
        const std::string terms = chosen.byHeadroom ? std::string() : termsText(*record.best, *first); // those are of time
        // What is left of it cannot win, and yet be better than what of it was simulated.
        const bool isItsBest = !hasOpen || record.openKey >= record.bestKey;
        const std::string subject = isItsBest ? "the best of it"
                                    : record.simulated == 1
                                        ? "the one of it that was simulated"
                                        : "the best of the " + std::to_string(record.simulated) + " of it that were simulated";
        return because(PlanReason::slower,
                       subject + verb + keyText(record.bestKey) + chosen.per + ", " + keyText(std::abs(delta)) +
                           (delta >= 0 ? " more" : " less") + (terms.empty() ? "" : ": " + terms) +
                           (mayWin      ? "; not all of it was looked at, " + openText
                            : isItsBest ? ""
                                        : "; the best of it" + verb + "at least " + keyText(record.openKey) + chosen.per));
    }
    if (mayWin)
        return because(PlanReason::open, "not looked at yet: " + openText);
    if (hasOpen)
        return because(PlanReason::floor, "nothing of it that may fit" + verb + "less than " + keyText(record.openKey) +
                                              chosen.per + ", and the first" + verb + keyText(chosen.bestKey));
    rejected.leastFloorSeconds = 0;                                           // nothing is left of it, and nothing ran
    if (!record.rule.empty() || !(record.hasMemory() || record.host.isSet())) // a rule that forbids what would fit
        return because(PlanReason::rule, record.rule);
    const auto how = [](const Choice& least) {
        return ", with micro-batches of " + std::to_string(least.microBatch) +
               (least.zeroStage > 0 ? ", ZeRO " + std::to_string(least.zeroStage) : "") +
               (least.recompute == Recompute::full        ? " and full recomputation"
                : least.recompute == Recompute::selective ? " and selective recomputation"
                                                          : "");
    };
    if (record.host.isSet()) {
        rejected.needHostGib = record.host.bytes / kBytesPerGib;
        return because(PlanReason::memory, "what fits its GPUs does not fit its hosts: what is offloaded takes " +
                                               tooMuchText(record.host.bytes, " of the ", chosen.hostBytes) +
                                               " of a node's host" + how(record.host.of) + ", the least of what was simulated");
    }
    if (record.laid.isSet()) {
        rejected.needGib = record.laid.bytes / kBytesPerGib;
        rejected.needSettings = record.laidSettings;
        return because(PlanReason::memory, "pipeline rank " + std::to_string(record.laid.rank) + " holds " +
                                               tooMuchText(record.laid.bytes, " of ", chosen.capacityBytes) +
                                               how(record.laid.of) + ", the leanest layout of it that was found");
    }
    if (record.floor.isSet() && record.floor.bytes <= record.bound.bytes)
        return because(PlanReason::memory, "pipeline rank " + std::to_string(record.floor.rank) + " holds more than " +
                                               tooMuchText(record.floor.bytes, " of ", chosen.capacityBytes) +
                                               how(record.floor.of));
    const std::string what = "its parameters, gradients and optimizer states, sharded as far as they go,";
    return because(PlanReason::memory, what + (record.isOfStates ? " take" : " and the activations of one micro-batch take") +
                                           " at least " + tooMuchText(record.bound.bytes, " of ", chosen.capacityBytes) +
                                           " a GPU");
}

std::string partText(std::int64_t number, std::int64_t parts)
{
    return " of part " + numberText(static_cast<double>(number), Unit::count) + " of " +
           numberText(static_cast<double>(parts), Unit::count);
}

std::string PlanRequest::partText() const
{
    return isOfPart() ? sim::partText(part + 1, parts) : std::string();
}

namespace {
/// The request with more settings held, whatever was said of them before.
PlanRequest withAsked(const PlanRequest& request, const std::vector<PlanSetting>& asked)
{
    PlanRequest with = request;
    const auto isAsked = [&](const std::string& pointer) {
        return std::any_of(asked.begin(), asked.end(),
                           [&](const PlanSetting& each) { return dotted(each.first) == dotted(pointer); });
    };
    std::erase_if(with.fixed, [&](const PlanSetting& fixed) { return isAsked(fixed.first); });
    std::erase_if(with.freed, isAsked);
    with.fixed.insert(with.fixed.end(), asked.begin(), asked.end());
    with.top = 1;
    return with;
}

/// Why none of these has a layout that fits: what is said of the one that is nearest to it, and of how many others it is not.
std::string whyNone(const std::vector<RejectedGrid>& grids)
{
    const auto distance = [](const RejectedGrid& grid) {
        const std::array nearest{PlanReason::open, PlanReason::memory, PlanReason::rule};
        return std::pair(std::find(nearest.begin(), nearest.end(), grid.reason) - nearest.begin(),
                         grid.needGib + grid.needHostGib);
    };
    const auto nearest = std::min_element(
        grids.begin(), grids.end(), [&](const RejectedGrid& a, const RejectedGrid& b) { return distance(a) < distance(b); });
    const auto isOpen = [](const RejectedGrid& grid) { return grid.reason == PlanReason::open; };
    const std::size_t others = std::any_of(grids.begin(), grids.end(), isOpen) ? 0 : grids.size() - 1;
    return nearest->grid.text() + ": " + nearest->text +
           (others == 0   ? ""
            : others == 1 ? "; nor does the other grid with it take the job"
                          : "; nor does any of the " + std::to_string(others) + " other grids with it take the job");
}
} // namespace

void requirePlannable(const PlanRequest& request, const Catalogue& catalogue)
{
    const PlanSpace space(request, catalogue);
}

void requirePlannable(const PlanRequest& request, const Catalogue& catalogue, const std::vector<PlanSetting>& asked)
{
    requirePlannable(withAsked(request, asked), catalogue);
}

PlanWhy whyNot(const PlanRequest& request, const Catalogue& catalogue, const PlanAnswer& answer,
               const std::vector<PlanSetting>& asked)
{
    PlanWhy why{.asked = asked};
    if (answer.best.empty()) {
        why.text = "there is no layout that fits to compare with";
        return why;
    }
    const PlanRequest with = withAsked(request, asked);
    PlanAnswer other;
    try {
        other = plan(with, catalogue);
    } catch (const ScenarioError& error) {
        why.text = error.what();
        return why;
    }
    if (other.best.empty()) {
        why.text = other.rejected.empty() ? "no grid" + request.partText() + " has it on " + countedText(answer.gpus, "GPU") +
                                                (other.noGrid.empty() ? "" : "; " + other.noGrid)
                                          : whyNone(other.rejected);
        return why;
    }
    why.other = other.best.front();
    why.proved = other.proved;
    const auto scenarioOf = [&](const PlanRequest& of, const PlannedLayout& layout) {
        return resolvedScenario(withSettings(of, layout.settings), catalogue);
    };
    const auto a = simulate(scenarioOf(request, answer.best.front())), b = simulate(scenarioOf(with, *why.other));
    const Comparison comparison = compare(*a, *b);
    why.deltaSeconds = static_cast<double>(comparison.deltaNs()) * 1e-9;
    for (const StepPart part : kStepParts)
        if (const std::int64_t delta = comparison.deltaNs(part); delta != 0)
            why.terms.emplace_back(part, static_cast<double>(delta) * 1e-9);
    const auto tokensOf = [](const Simulation& of) {
        return 1.0 * of.scenario().training.globalBatchSize * of.scenario().training.sequenceLength;
    };
    why.tokensRatio = tokensOf(*b) / tokensOf(*a);
    why.perToken = b->metrics().stepTimeSeconds / a->metrics().stepTimeSeconds / why.tokensRatio;
    why.sure = sureText(comparison.likely);
    if (request.objective == PlanObjective::headroom) {
        why.deltaGib = static_cast<double>(comparison.memory.b.total() - comparison.memory.a.total()) / kBytesPerGib;
        for (const auto& [part, bytes] : {std::pair{"parameters", &MemoryBreakdown::parameters},
                                          {"gradients", &MemoryBreakdown::gradients},
                                          {"optimizer", &MemoryBreakdown::optimizer},
                                          {"activations", &MemoryBreakdown::activations},
                                          {"buffers", &MemoryBreakdown::buffers}})
            if (const std::int64_t delta = comparison.memory.b.*bytes - comparison.memory.a.*bytes; delta != 0)
                why.memoryTerms.emplace_back(part, static_cast<double>(delta) / kBytesPerGib);
    }
    why.isFirst = a->scenario() == b->scenario();
    why.text = why.isFirst ? "the first has it" : termsText(*why.other, answer.best.front());
    return why;
}

} // namespace sim
