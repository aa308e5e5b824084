#include "sim/answers/plan.h"

#include "sim/error.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

/// "layout.tp" as "/layout/tp".
std::string pointerOf(std::string key)
{
    std::replace(key.begin(), key.end(), '.', '/');
    return key.starts_with('/') ? key : "/" + key;
}

Answer valueOf(const std::string& text)
{
    Answer value = Answer::parse(text, nullptr, false);
    return value.is_discarded() ? Answer(text) : value;
}

Answer layoutOf(const PlannedLayout& layout, bool hasPrice)
{
    Answer settings = Answer::object();
    for (const auto& [pointer, value] : layout.settings)
        settings[pointerOf(pointer)] = valueOf(value);
    Answer use = Answer::object();
    for (const StepPart part : kStepParts)
        if (layout.use[part] != 0)
            use[factsOf(part).name] = 1e-9 * static_cast<double>(layout.use[part]);
    Answer answer{{"settings", settings},
                  {"step_time_s", layout.stepSeconds},
                  {"closed_form_s", layout.closedFormSeconds},
                  {"floor_s", layout.floorSeconds},
                  {"tokens_per_second", layout.tokensPerSecond},
                  {"peak_memory_gib", layout.peakMemoryGib},
                  {"headroom_gib", layout.headroomGib},
                  {"gpu_hours", layout.gpuHours},
                  {"tie_with_first", layout.tieWithFirst},
                  {"use_s", use}};
    if (hasPrice)
        answer["cost"] = layout.cost;
    return answer;
}

void addGrid(Answer& answer, const PlanGrid& grid)
{
    answer["tp"] = grid.tp;
    answer["cp"] = grid.cp;
    answer["pp"] = grid.pp;
    answer["dp"] = grid.dp;
    answer["ep"] = grid.ep;
    answer["etp"] = grid.etp;
}

} // namespace

Answer planAnswer(const PlanAnswer& plan, const PlanRequest& request)
{
    const bool hasPrice = request.price > 0;
    constexpr std::array kObjectives{"time", "headroom", "gpu-hours", "cost"};
    Answer held = Answer::object();
    for (const auto& [pointer, value] : plan.heldFixed)
        held[pointer] = valueOf(value);
    Answer best = Answer::array(), pareto = Answer::array(), rejected = Answer::array();
    for (const PlannedLayout& layout : plan.best)
        best.push_back(layoutOf(layout, hasPrice));
    for (const PlannedLayout& layout : plan.pareto)
        pareto.push_back(layoutOf(layout, hasPrice));
    for (const RejectedGrid& grid : plan.rejected) {
        Answer of = Answer::object();
        addGrid(of, grid.grid);
        of["reason"] = planReasonName(grid.reason);
        of["text"] = grid.text;
        if (grid.leastFloorSeconds > 0)
            of["floor_s"] = grid.leastFloorSeconds;
        of["best"] = grid.best ? layoutOf(*grid.best, hasPrice) : Answer(nullptr);
        rejected.push_back(std::move(of));
    }
    Answer answer{{"gpus", plan.gpus},
                  {"objective", kObjectives[asIndex(request.objective)]},
                  {"covered", plan.covered},
                  {"evaluated", plan.evaluated},
                  {"tightened", plan.tightened},
                  {"simulated", plan.simulated},
                  {"too_large", plan.tooLarge},
                  {"proved", plan.proved},
                  {"gap", plan.gap},
                  {"stopped", plan.stopped},
                  {"seconds", plan.seconds},
                  {"held_fixed", held},
                  {"best", best},
                  {"pareto", pareto},
                  {"rejected", rejected}};
    if (plan.tooLarge > 0)
        answer["too_large_text"] = plan.tooLargeText;
    if (request.parts > 1)
        answer["part"] = {request.part + 1, request.parts};
    return answer;
}

Answer whyAnswer(const PlanWhy& why)
{
    Answer terms = Answer::array();
    for (const auto& [part, seconds] : why.terms)
        terms.push_back({{"part", factsOf(part).name}, {"delta_s", seconds}});
    return {{"asked", {{"pointer", pointerOf(why.asked.first)}, {"value", valueOf(why.asked.second)}}},
            {"text", why.text},
            {"best", why.other ? layoutOf(*why.other, why.other->cost > 0) : Answer(nullptr)},
            {"delta_s", why.deltaSeconds},
            {"terms", terms},
            {"sure", why.sure}};
}

Answer mergedPlans(const std::vector<Answer>& parts, int top)
{
    if (parts.empty())
        throw Error("there is nothing to merge");
    std::vector<bool> seen;
    Answer merged = parts.front();
    const auto timeOf = [](const Answer& layout) { return layout.at("step_time_s").get<double>(); };
    std::vector<Answer> best, pareto, rejected;
    bool proved = true;
    double least = 0, seconds = 0;
    for (const char* count : {"covered", "evaluated", "tightened", "simulated"})
        merged[count] = 0;
    try {
        for (const Answer& part : parts) {
            if (!part.contains("part"))
                throw Error("what is merged are answers of plan --part I/N --json");
            const int index = part.at("part").at(0).get<int>(), of = part.at("part").at(1).get<int>();
            seen.resize(asIndex(std::max(of, 1)), false);
            if (of != static_cast<int>(parts.size()) || index < 1 || index > of || seen[asIndex(index - 1)])
                throw Error("part " + std::to_string(index) + "/" + std::to_string(of) + " among " +
                            std::to_string(parts.size()) + " files: each of the " + std::to_string(of) + " parts is wanted once");
            seen[asIndex(index - 1)] = true;
            if (part.at("gpus") != merged.at("gpus") || part.at("objective") != merged.at("objective") ||
                part.at("held_fixed") != merged.at("held_fixed"))
                throw Error("part " + std::to_string(index) +
                            " is of another search: its GPUs, objective or what is held differ");
            for (const char* count : {"covered", "evaluated", "tightened", "simulated"})
                merged[count] = merged[count].get<std::int64_t>() + part.at(count).get<std::int64_t>();
            for (const Answer& layout : part.at("best"))
                best.push_back(layout);
            for (const Answer& layout : part.at("pareto"))
                pareto.push_back(layout);
            for (const Answer& grid : part.at("rejected"))
                rejected.push_back(grid);
            seconds += part.at("seconds").get<double>();
            if (!part.at("proved").get<bool>() && !part.at("best").empty()) { // what of it may still be faster
                proved = false;
                const double open = timeOf(part.at("best").front()) * (1 - part.at("gap").get<double>());
                least = least == 0 ? open : std::min(least, open);
            }
        }
    } catch (const Answer::exception&) {
        throw Error("a file is not an answer of plan --part I/N --json");
    }
    const bool byHeadroom = merged.at("objective") == "headroom";
    const auto better = [&](const Answer& a, const Answer& b) {
        const double ha = a.at("headroom_gib").get<double>(), hb = b.at("headroom_gib").get<double>();
        if (byHeadroom && ha != hb)
            return ha > hb;
        return timeOf(a) != timeOf(b) ? timeOf(a) < timeOf(b) : ha > hb;
    };
    std::stable_sort(best.begin(), best.end(), better);
    const Answer* const first = best.empty() ? nullptr : &best.front();
    if (!proved && first != nullptr && least >= timeOf(*first))
        proved = true;
    merged["proved"] = proved && first != nullptr;
    merged["gap"] = first == nullptr ? 1.0 : proved ? 0.0 : 1 - least / timeOf(*first);
    merged["seconds"] = seconds;
    merged["best"] = Answer::array();
    for (std::size_t i = 0; i < best.size() && i < asIndex(top); ++i)
        merged["best"].push_back(best[i]);
    std::stable_sort(pareto.begin(), pareto.end(), [&](const Answer& a, const Answer& b) { return timeOf(a) < timeOf(b); });
    merged["pareto"] = Answer::array();
    double most = -1e300;
    for (const Answer& layout : pareto)
        if (layout.at("headroom_gib").get<double>() > most) {
            most = layout.at("headroom_gib").get<double>();
            merged["pareto"].push_back(layout);
        }
    // The first of each other part lost to the first of all.
    const auto gridKeys = {"tp", "cp", "pp", "dp", "ep", "etp"};
    for (const Answer& part : parts) {
        if (part.at("best").empty() || first == nullptr || part.at("best").front() == *first)
            continue;
        const Answer& lost = part.at("best").front();
        Answer grid = Answer::object();
        for (const char* key : gridKeys)
            grid[key] = lost.at("settings").value("/layout/" + std::string(key), 1);
        grid["reason"] = "slower";
        grid["text"] =
            "its best takes " + std::to_string(timeOf(lost)) + " s, the first " + std::to_string(timeOf(*first)) + " s";
        grid["best"] = lost;
        rejected.push_back(std::move(grid));
    }
    const auto gridOf = [&](const Answer& grid) {
        std::vector<int> numbers;
        for (const char* key : gridKeys)
            numbers.push_back(grid.value(key, 1));
        return numbers;
    };
    std::stable_sort(rejected.begin(), rejected.end(), [&](const Answer& a, const Answer& b) { return gridOf(a) < gridOf(b); });
    merged["rejected"] = rejected;
    merged.erase("part");
    return merged;
}

} // namespace sim
