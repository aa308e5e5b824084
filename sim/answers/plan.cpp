#include "sim/answers/plan.h"

#include "sim/error.h"
#include "sim/scenario/pointer_text.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace sim {
namespace {

Answer valueOf(const std::string& text)
{
    Answer value = Answer::parse(text, nullptr, false);
    return value.is_discarded() ? Answer(text) : value;
}

/// What a file takes to be the layout that was chosen: what was held for the search beside what the search was free to choose.
Answer settingsOf(const std::vector<PlanSetting>& held, const std::vector<PlanSetting>& chosen)
{
    Answer settings = Answer::object();
    for (const std::vector<PlanSetting>* of : {&held, &chosen})
        for (const auto& [pointer, value] : *of)
            settings[slashed(pointer)] = valueOf(value);
    return settings;
}

Answer layoutOf(const PlannedLayout& layout, const std::vector<PlanSetting>& held, bool hasPrice)
{
    Answer use = Answer::object();
    for (const StepPart part : kStepParts)
        if (layout.use[part] != 0)
            use[factsOf(part).name] = 1e-9 * static_cast<double>(layout.use[part]);
    Answer answer{{"settings", settingsOf(held, layout.settings)},
                  {"step_time_s", layout.stepSeconds},
                  {"tokens_per_second", layout.tokensPerSecond},
                  {"peak_memory_gib", layout.peakMemoryGib},
                  {"headroom_gib", layout.headroomGib},
                  {"gpu_hours", layout.gpuHours},
                  {"tie_with_first", layout.tieWithFirst},
                  {"use_s", use}};
    if (layout.runDays > 0)
        answer["run_days"] = layout.runDays;
    if (std::any_of(layout.settings.begin(), layout.settings.end(),
                    [](const PlanSetting& of) { return of.first == "training.global_batch_size"; }))
        answer["pace_s"] = layout.paceSeconds();
    if (layout.floorSeconds > 0) { // else it was not searched for
        answer["closed_form_s"] = layout.closedFormSeconds;
        answer["floor_s"] = layout.floorSeconds;
    }
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

std::string hundredths(double value)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2f", value);
    return text.data();
}

Answer phaseOf(const Phase& phase)
{
    Answer answer{{"sequence_length", phase.sequenceLength}};
    if (phase.batch > 0)
        answer["global_batch_size"] = phase.batch;
    return answer;
}

/// Equal for two parts if they are parts of the same search: what files say that the document names belongs to it.
std::string jobOf(const PlanRequest& request, const std::string& base)
{
    std::string all = request.document.text();
    const auto add = [&](const std::string& word) { all += '\0' + word; };
    add(base);
    for (const auto& [pointer, value] : request.fixed) {
        add(pointer);
        add(value);
    }
    add("freed");
    for (const std::string& pointer : request.freed)
        add(pointer);
    add(request.framework);
    for (const int batch : request.rampBatches)
        add(std::to_string(batch));
    for (const double number : {1.0 * request.gpus, 1.0 * static_cast<int>(request.objective), request.price, request.marginGib})
        add(Answer(number).dump());
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const char c : all)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

} // namespace

Answer leastMemoryAnswer(const LeastMemory& least, int gpus)
{
    return {{"gib", least.gib}, {"has_gib", least.hasGib}, {"gpus", least.gpus}, {"text", least.text(gpus)}};
}

Answer planAnswer(const PlanAnswer& plan, const PlanRequest& request)
{
    const bool hasPrice = request.price > 0;
    constexpr std::array kObjectives{"time", "headroom", "gpu-hours", "cost", "tokens"};
    Answer held = Answer::object();
    for (const auto& [pointer, value] : plan.heldFixed)
        held[pointer] = valueOf(value);
    Answer best = Answer::array(), pareto = Answer::array(), rejected = Answer::array();
    for (const PlannedLayout& layout : plan.best)
        best.push_back(layoutOf(layout, request.fixed, hasPrice));
    for (const PlannedLayout& layout : plan.pareto)
        pareto.push_back(layoutOf(layout, request.fixed, hasPrice));
    for (const RejectedGrid& grid : plan.rejected) {
        Answer of = Answer::object();
        addGrid(of, grid.grid);
        of["reason"] = planReasonName(grid.reason);
        of["text"] = grid.text;
        if (grid.leastFloorSeconds > 0)
            of["floor_s"] = grid.leastFloorSeconds;
        if (grid.needHostGib > 0)
            of["need_host_gib"] = grid.needHostGib;
        if (grid.needGib > 0) {
            of["need_gib"] = grid.needGib;
            of["need"] = settingsOf(request.fixed, grid.needSettings);
        }
        of["best"] = grid.best ? layoutOf(*grid.best, request.fixed, hasPrice) : Answer(nullptr);
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
                  {"held_rules", plan.heldRules},
                  {"best", best},
                  {"pareto", pareto},
                  {"rejected", rejected}};
    if (plan.paceBatch > 0)
        answer["pace_batch"] = plan.paceBatch;
    if (plan.tooLarge > 0)
        answer["too_large_text"] = plan.tooLargeText;
    if (plan.least)
        answer["least"] = leastMemoryAnswer(*plan.least, plan.gpus);
    if (!plan.noGrid.empty())
        answer["no_grid"] = plan.noGrid;
    if (!plan.noTies.empty() && request.objective != PlanObjective::headroom) // which has none
        answer["no_ties"] = plan.noTies;
    if (request.isOfPart()) { // what putting the parts together takes
        answer["part"] = {request.part + 1, request.parts};
        answer["job"] = jobOf(request, plan.base);
        answer["order"] = plan.firstOrder;
        answer["open"] = std::isfinite(plan.openKey) ? Answer(plan.openKey) : Answer(nullptr);
        answer["sure"] = Answer::array();
        for (const auto& [software, sure] : plan.sure)
            answer["sure"].push_back({{"stack", software.empty() ? Answer(nullptr) : valueOf(software)},
                                      {"low", sure.stepLow},
                                      {"high", sure.stepHigh},
                                      {"ratio_share", sure.ratioShare}});
    }
    return answer;
}

Answer sizeAnswer(const SizeAnswer& sizes, const PlanRequest& request)
{
    PlanRequest of = request;
    of.gpus = sizes.gpus;
    Answer answer = planAnswer(sizes.best, of);
    answer["gpus"] = sizes.gpus;
    Answer tried = Answer::array();
    for (const TriedSize& size : sizes.tried) {
        Answer one{{"gpus", size.gpus}, {"meets", size.meets}, {"proved", size.proved}};
        if (!size.meets)
            one["least_days"] = std::isfinite(size.leastDays) ? Answer(size.leastDays) : Answer(nullptr);
        if (!size.problem.empty())
            one["problem"] = size.problem;
        tried.push_back(std::move(one));
    }
    answer["deadline"] = {{"days", sizes.days},
                          {"tokens", sizes.tokens},
                          {"run_days", sizes.gpus > 0 ? Answer(sizes.bestDays) : Answer(nullptr)},
                          {"fewest", sizes.isFewest},
                          {"tried", tried}};
    answer["stopped"] = sizes.stopped;
    return answer;
}

Answer sizesAnswer(const std::vector<PlanAnswer>& plans, const std::vector<int>& notBegun, const PlanRequest& request)
{
    Answer sizes = Answer::array(), pareto = Answer::array();
    std::vector<PlannedLayout> winners;
    std::vector<int> gpus;
    for (const PlanAnswer& plan : plans) {
        PlanRequest of = request;
        of.gpus = plan.gpus;
        sizes.push_back(planAnswer(plan, of));
        if (!plan.best.empty() && plan.best.front().runDays > 0) {
            winners.push_back(plan.best.front());
            gpus.push_back(plan.gpus);
        }
    }
    for (const std::size_t i : daysAgainstHours(winners)) {
        pareto.push_back({{"gpus", gpus[i]}, {"run_days", winners[i].runDays}, {"gpu_hours", winners[i].gpuHours}});
        if (request.price > 0)
            pareto.back()["cost"] = winners[i].cost;
    }
    return {{"sizes", sizes}, {"not_begun", notBegun}, {"pareto", pareto}};
}

Answer phasesAnswer(const std::vector<PlannedPhase>& phases, const std::vector<Phase>& asked, const PlanRequest& request)
{
    Answer all = Answer::array();
    for (const PlannedPhase& each : phases) {
        const PlanRequest of = ofPhase(request, each.phase);
        Answer answer = planAnswer(each.answer, of);
        Answer phase = phaseOf(each.phase);
        phase["changes"] = each.changes;
        phase["read_gib"] = each.readGib;
        phase["kept"] = each.kept ? layoutOf(*each.kept, of.fixed, request.price > 0) : Answer(nullptr);
        if (!each.whyNotKept.empty())
            phase["why_not_kept"] = each.whyNotKept;
        answer["phase"] = std::move(phase);
        all.push_back(std::move(answer));
    }
    Answer notBegun = Answer::array();
    for (std::size_t i = phases.size(); i < asked.size(); ++i)
        notBegun.push_back(phaseOf(asked[i]));
    return {{"phases", all}, {"not_begun", notBegun}};
}

Answer leastChangeAnswer(const LeastChange& change)
{
    Answer settings = Answer::array(), set = Answer::object(), erased = Answer::array();
    for (const ChangedSetting& setting : change.settings)
        settings.push_back({{"pointer", slashed(setting.pointer)}, {"before", setting.before}, {"after", setting.after}});
    for (const Change& each : change.edit.changes) {
        if (each.json)
            set[each.pointer] = valueOf(*each.json);
        else
            erased.push_back(each.pointer);
    }
    const auto numbers = [&](double step, double peak, double host) {
        Answer of{{"step_time_s", step}, {"peak_memory_gib", peak}};
        if (change.overfillsHost)
            of["host_memory_gib"] = host;
        return of;
    };
    return {{"fits_already", change.fitsAlready},
            {"found", change.found()},
            {"proved", change.proved},
            {"settings", settings},
            {"set", set},
            {"erase", erased},
            {"gpus_before", change.gpusBefore},
            {"gpus", change.gpus},
            {"capacity_gib", change.capacityGib},
            {"before", numbers(change.stepBeforeSeconds, change.peakBeforeGib, change.hostBeforeGib)},
            {"after", change.found() ? numbers(change.stepSeconds, change.peakGib, change.hostGib) : Answer(nullptr)},
            {"sets_tried", change.setsTried},
            {"searched", change.searched},
            {"text", change.text()}};
}

Answer planSensitivityAnswer(const std::vector<PlanSensitivity>& all, const PlanRequest& request)
{
    Answer answer = Answer::array();
    for (const PlanSensitivity& of : all) {
        Answer one{{"pointer", of.pointer}, {"name", of.name}, {"unit", of.unit}, {"now", of.now}};
        for (const auto& [key, turn] : {std::pair{"below", &of.below}, {"above", &of.above}})
            // What is better beyond is told as it is now, as its settings have it: the constant's value stands beside them.
            one[key] = *turn
                           ? Answer{{"value", (*turn)->value},
                                    {"best", (*turn)->other ? layoutOf(*(*turn)->other, request.fixed, false) : Answer(nullptr)}}
                           : Answer(nullptr);
        one["searched"] = of.isSearched;
        one["text"] = sensitivityText(of);
        answer.push_back(std::move(one));
    }
    return answer;
}

Answer robustAnswer(const RobustChoice& choice, const PlanRequest& request)
{
    Answer cases = Answer::array(), layouts = Answer::array();
    for (const RobustCase& each : choice.cases)
        cases.push_back({{"name", each.name}, {"how", each.how}});
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        Answer one{{"name", choice.names[i]},
                   {"layout", layoutOf(choice.layouts[i], request.fixed, false)},
                   {"step_time_s", choice.seconds[i]}};
        one["worst_case"] = choice.cases[choice.worstCase(i)].name;
        one["worst_regret"] = choice.worstRegret(i);
        layouts.push_back(std::move(one));
    }
    return {{"cases", cases},
            {"layouts", layouts},
            {"best", choice.layouts.empty() ? Answer(nullptr) : Answer(choice.best)},
            {"text", robustText(choice)}};
}

std::string planProof(const Answer& answer)
{
    const auto digits = [](std::int64_t number) { return numberText(static_cast<double>(number), Unit::count); };
    const auto count = [&](const char* key) { return digits(answer.at(key).get<std::int64_t>()); };
    const auto counted = [&](const char* key, const char* noun) {
        const auto number = answer.at(key).get<std::int64_t>();
        return digits(number) + " " + noun + (number == 1 ? "" : "s");
    };
    const bool isJudged = answer.at("covered").get<std::int64_t>() > 0 || answer.at("proved").get<bool>();
    std::string text = isJudged ? counted("covered", "legal layout") + " on " + counted("gpus", "GPU")
                                : "no layout on " + counted("gpus", "GPU") + " was judged";
    if (answer.contains("simulated") && answer.at("covered").get<std::int64_t>() > 0)
        text += ", of which " + count("evaluated") + " had a floor worked out, " + count("tightened") +
                " their passes laid out, and " + count("simulated") +
                (answer.at("simulated").get<std::int64_t>() == 1 ? " was simulated" : " were simulated");
    const bool proved = answer.at("proved").get<bool>();
    const std::string ofPart = answer.contains("part") ? partText(answer.at("part").at(0).get<std::int64_t>(),
                                                                  answer.at("part").at(1).get<std::int64_t>())
                                                       : std::string();
    if (!ofPart.empty() && proved && answer.at("best").empty() && answer.at("rejected").empty())
        text += "; nothing is" + ofPart + ": there are fewer grids than parts";
    else if (answer.at("best").empty() && isJudged)
        text += (proved ? "; none" : "; none that was reached") + ofPart + " fits" +
                (answer.contains("least") ? ": " + answer.at("least").at("text").get<std::string>() : std::string());
    else if (!isJudged)
        text += " yet";
    else if (proved)
        text += "; the first is proved best" + std::string(answer.at("objective") == "tokens" ? " in tokens a day" : "") + ofPart;
    else
        text += std::string("; not proved: another may ") +
                (answer.at("objective") == "headroom" ? "hold less by " : "be faster by ") +
                hundredths(100 * answer.at("gap").get<double>()) + " %";
    if (answer.contains("pace_batch"))
        text += "\nA global batch of at most " + count("pace_batch") +
                ": layouts go by the time that a token takes, told for each " + counted("pace_batch", "sequence");
    if (answer.at("too_large").get<std::int64_t>() > 0)
        text += "\n" + counted("too_large", "legal layout") +
                " could not be laid out or simulated here, and stay open: " + answer.value("too_large_text", std::string());
    if (answer.at("stopped").get<bool>())
        text += "\nstopped: what was found until then";
    return text;
}

Answer whyAnswer(const PlanWhy& why, const PlanRequest& request)
{
    std::vector<PlanSetting> held = request.fixed;
    held.insert(held.end(), why.asked.begin(), why.asked.end());
    Answer terms = Answer::array();
    for (const auto& [part, seconds] : why.terms)
        terms.push_back({{"part", factsOf(part).name}, {"delta_s", seconds}});
    const auto askedOf = [](const PlanSetting& asked) {
        return Answer{{"pointer", slashed(asked.first)}, {"value", valueOf(asked.second)}};
    };
    Answer answer{{"asked", askedOf(why.asked.front())},
                  {"text", why.text},
                  {"is_first", why.isFirst},
                  {"best", why.other ? layoutOf(*why.other, held, why.other->cost > 0) : Answer(nullptr)},
                  {"delta_s", why.deltaSeconds},
                  {"terms", terms},
                  {"proved", why.proved},
                  {"tokens_ratio", why.tokensRatio},
                  {"per_token", why.perToken},
                  {"sure", why.sure}};
    for (std::size_t i = 1; i < why.asked.size(); ++i)
        answer["asked_with"].push_back(askedOf(why.asked[i]));
    if (!why.deltaGib)
        return answer;
    Answer memoryTerms = Answer::array();
    for (const auto& [part, gib] : why.memoryTerms)
        memoryTerms.push_back({{"part", part}, {"delta_gib", gib}});
    answer["delta_gib"] = *why.deltaGib;
    answer["memory_terms"] = memoryTerms;
    return answer;
}

} // namespace sim
