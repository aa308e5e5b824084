#include "sim/recovery/run_difference.h"

#include "sim/text/number_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using DifferenceJson = nlohmann::ordered_json;

DifferenceJson runsJson(const OfRuns& of)
{
    DifferenceJson json{{"a", of.a}, {"b", of.b}, {"delta", of.delta()}};
    json["ratio"] = of.a > 0 ? DifferenceJson(of.ratio()) : DifferenceJson();
    return json;
}

DifferenceJson classesJson(const std::vector<ClassDifference>& classes, bool waits)
{
    DifferenceJson list = DifferenceJson::array();
    for (const ClassDifference& of : classes) {
        DifferenceJson entry{{"name", of.name},
                             {"verdict", verdictText(of.verdict)},
                             {"seconds", runsJson(of.seconds)},
                             {"count", runsJson(of.count)},
                             {"typical_ratio", of.typicalRatio},
                             {"noise", of.noise},
                             {"ranks", of.ranks}};
        if (waits)
            entry["waiting_s"] = runsJson(of.waiting);
        list.push_back(std::move(entry));
    }
    return list;
}

std::string signedTime(double seconds)
{
    return (seconds < 0 ? "-" : "+") + numberText(std::abs(seconds), Unit::seconds);
}

} // namespace

const char* verdictText(Verdict verdict)
{
    constexpr const char* kTexts[] = {"alike", "slower", "faster", "new", "gone"};
    return kTexts[static_cast<std::size_t>(verdict)];
}

nlohmann::ordered_json differenceJson(const RunDifference& of)
{
    DifferenceJson json;
    json["step_s"] = runsJson(of.stepSeconds);
    json["steps"] = {{"a", of.steps.a}, {"b", of.steps.b}};
    json["noise"] = of.noise;
    json["verdict"] = verdictText(of.verdict);
    json["parts"] = DifferenceJson::array();
    for (const PartDifference& part : of.parts)
        json["parts"].push_back({{"name", part.name}, {"seconds", runsJson(part.seconds)}});
    json["kernels"] = classesJson(of.kernels, false);
    json["collectives"] = classesJson(of.collectives, true);
    json["ranks"] = DifferenceJson::array();
    for (const RankDifference& rank : of.ranks)
        json["ranks"].push_back({{"rank", rank.rankB},
                                 {"compared_with", rank.rankA},
                                 {"verdict", verdictText(rank.verdict)},
                                 {"step_s", runsJson(rank.step)},
                                 {"computing_s", runsJson(rank.computing)},
                                 {"exposed_comm_s", runsJson(rank.exposedComm)},
                                 {"copy_s", runsJson(rank.copy)},
                                 {"idle_s", runsJson(rank.idle)},
                                 {"host_bound_s", runsJson(rank.hostBound)},
                                 {"beyond_others", rank.beyondOthers},
                                 {"beyond_others_s", rank.beyondSeconds},
                                 {"kernels", rank.kernels}});
    json["stages"] = DifferenceJson::array();
    for (const StageDifference& stage : of.stages)
        json["stages"].push_back({{"pipeline_rank", stage.pipelineRank},
                                  {"verdict", verdictText(stage.verdict)},
                                  {"computing_s", runsJson(stage.computing)}});
    json["by_step"] = DifferenceJson::array();
    for (const StepDifference& step : of.byStep)
        json["by_step"].push_back(
            {{"step", step.number}, {"verdict", verdictText(step.verdict)}, {"seconds", runsJson(step.seconds)}});
    json["findings"] = DifferenceJson::array();
    for (const DifferenceFinding& finding : of.findings)
        json["findings"].push_back({{"kind", finding.kind},
                                    {"title", finding.title},
                                    {"detail", finding.detail},
                                    {"seconds", finding.seconds},
                                    {"ranks", finding.ranks}});
    json["causes"] = DifferenceJson::array();
    for (const DifferenceCause& cause : of.causes)
        json["causes"].push_back({{"title", cause.title},
                                  {"detail", cause.detail},
                                  {"seconds", cause.seconds},
                                  {"share", cause.share},
                                  {"findings", cause.findings}});
    json["other_findings"] = {{"count", of.otherFindings}, {"share", of.otherShare}};
    json["differing_s"] = of.differingSeconds;
    json["problems"] = of.problems;
    return json;
}

std::string otherFindingsText(const RunDifference& of)
{
    return of.otherFindings == 0
               ? std::string()
               : "and " + std::to_string(of.otherFindings) + " smaller " + (of.otherFindings == 1 ? "one, " : "ones, together ") +
                     percentText(of.otherShare) + " of the " + numberText(of.differingSeconds, Unit::seconds) +
                     " that all changes add up to, whether longer or shorter";
}

std::string differenceText(const RunDifference& of)
{
    std::string text = "step  " + numberText(of.stepSeconds.a, Unit::seconds) + " → " +
                       numberText(of.stepSeconds.b, Unit::seconds) + "  " + signedTime(of.stepSeconds.delta());
    if (of.stepSeconds.a > 0)
        text += " (" + numberText(of.stepSeconds.ratio(), Unit::number, 4) + " ×)";
    text += "\n";
    if (of.noise > kLeastOfStep)
        text += "  (steps of one run differ by " + percentText(of.noise) + " among themselves)\n";
    text += "the mean step of the mean rank\n";
    for (const PartDifference& part : of.parts)
        if (part.seconds.a > 0 || part.seconds.b > 0)
            text += "  " + part.name + "  " + numberText(part.seconds.a, Unit::seconds) + " → " +
                    numberText(part.seconds.b, Unit::seconds) + "  " + signedTime(part.seconds.delta()) + "\n";
    text += "what differs\n";
    for (const DifferenceFinding* finding : of.headlines())
        text += "  " + finding->title + "\n    " + finding->detail + "\n";
    for (const DifferenceCause& cause : of.causes)
        text += "  " + cause.title + "\n    " + cause.detail + "\n";
    if (const std::string others = otherFindingsText(of); !others.empty())
        text += "  " + others + "; --json has them all\n";
    if (of.findings.empty())
        text += "  nothing\n";
    std::string steps;
    for (const StepDifference& step : of.byStep)
        if (step.verdict != Verdict::alike)
            steps += "  " + std::to_string(step.number) + "  " + numberText(step.seconds.a, Unit::seconds) + " → " +
                     numberText(step.seconds.b, Unit::seconds) + "  " + verdictText(step.verdict) + "\n";
    if (!steps.empty())
        text += "steps of the same number\n" + steps;
    if (!of.problems.empty()) {
        text += "to know\n";
        for (const std::string& problem : of.problems)
            text += "  " + problem + "\n";
    }
    return text;
}

} // namespace sim
