// What a request says beside the space of its layouts: batches of a ramp, the document with a layout's settings, a grid's words.
#include "sim/planner/space.h"

#include "sim/scenario/pointer_text.h"

#include <utility>

namespace sim {

std::vector<int> rampedBatches(const PlanRequest& request, const Catalogue& catalogue, int first, int step)
{
    // Of the space: what is held beside the batch need be no job alone.
    return rampedBatches(PlanSpace(request, catalogue).base.training.globalBatchSize, first, step);
}

std::vector<int> rampedBatches(int last, int first, int step)
{
    if (first < 1 || step < 1 || first >= last || (last - first) % step != 0) {
        std::string nearest = ": it begins below that, and grows";
        if (step >= last - first && first >= 1 && first < last)
            nearest = "; from " + std::to_string(first) + " one step of " + std::to_string(last - first) + " does";
        else if (step >= 1 && first >= 1 && first < last)
            nearest =
                "; " + std::to_string(last - (last - first) / step * step) + " in steps of " + std::to_string(step) + " does";
        throw Error("a ramp of the batch from " + std::to_string(first) + " in steps of " + std::to_string(step) +
                    " does not lead to the global batch of " + std::to_string(last) + nearest);
    }
    constexpr int kMostBatches = 10'000;
    if ((last - first) / step > kMostBatches)
        throw Error("a ramp of " + std::to_string((last - first) / step) + " batches; at most " + std::to_string(kMostBatches) +
                    " can be judged");
    std::vector<int> batches;
    for (int batch = first; batch < last; batch += step)
        batches.push_back(batch);
    return batches;
}

void hold(PlanRequest& request, PlanSetting setting, const Catalogue& catalogue)
{
    request.document.takeListOfBase(setting.first, catalogue);
    request.fixed.push_back(std::move(setting));
}

ScenarioDocument withSettings(const PlanRequest& request, const std::vector<PlanSetting>& settings)
{
    ScenarioDocument document = request.document;
    for (const auto& [pointer, value] : request.fixed)
        document.set(dotted(pointer), value);
    for (const auto& [pointer, value] : settings) {
        if (pointer == "schedule.kind" && document.get("schedule.actions"))
            document.erase("schedule.actions");
        document.set(pointer, value);
    }
    return document;
}

std::optional<PlanSetting> batchOfOwnLayout(const ScenarioDocument& document, const ScenarioDocument& own,
                                            const Catalogue& catalogue)
{
    constexpr const char* kBatch = "training.global_batch_size";
    if (document.get(kBatch))
        return std::nullopt;
    const ScenarioDocument::Resolved resolved = own.resolve(catalogue);
    if (!resolved.scenario)
        return std::nullopt;
    return PlanSetting{kBatch, std::to_string(resolved.scenario->training.globalBatchSize)};
}

std::string PlanGrid::text() const
{
    std::string words;
    for (const auto& [name, size] : {std::pair{"tp", tp}, {"cp", cp}, {"pp", pp}, {"dp", dp}, {"ep", ep}})
        if (size > 1)
            words += (words.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(size);
    if (etp != tp)
        words += (words.empty() ? "" : ", ") + std::string("etp ") + std::to_string(etp);
    return words.empty() ? "one GPU" : words;
}

} // namespace sim
