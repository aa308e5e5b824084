#include "sim/calibration/calibrate.h"

#include "sim/scenario/hardware_profile.h"
#include "sim/text/number_text.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sim {
namespace {

using CalibrationJson = nlohmann::ordered_json;

CalibrationJson classesJsonOf(const std::vector<CalibratedClass>& classes)
{
    CalibrationJson list = CalibrationJson::array();
    for (const CalibratedClass& of : classes)
        list.push_back({{"name", of.name},
                        {"measured_s", of.measuredSeconds},
                        {"predicted_s", of.predictedSeconds},
                        {"measured_count", of.measuredCount},
                        {"predicted_count", of.predictedCount},
                        {"ratio", of.ratio > 0 ? CalibrationJson(of.ratio) : CalibrationJson()},
                        {"points", of.points},
                        {"note", of.note}});
    return list;
}

std::size_t pointsOf(const std::vector<MeasuredCurve>& curves)
{
    std::size_t points = 0;
    for (const MeasuredCurve& curve : curves)
        points += curve.points.size();
    return points;
}

std::string signedPercent(double fraction)
{
    const std::string text = percentText(std::abs(fraction));
    return (text == percentText(0) ? "" : fraction < 0 ? "-" : "+") + text;
}

std::string classLines(const char* heading, const std::vector<CalibratedClass>& classes)
{
    constexpr std::size_t kMostLines = 40;
    std::string text = std::string(heading) + "\n";
    for (std::size_t i = 0; i < std::min(kMostLines, classes.size()); ++i) {
        const CalibratedClass& of = classes[i];
        text += "  " + of.name + "  " + numberText(of.measuredSeconds, Unit::seconds) + " measured, " +
                numberText(of.predictedSeconds, Unit::seconds) + " predicted";
        if (of.ratio > 0)
            text += ", " + numberText(of.ratio, Unit::number) + " ×";
        text += (of.note.empty() ? "" : " (" + of.note + ")") + "\n";
    }
    if (classes.size() > kMostLines)
        text += "  … and " + std::to_string(classes.size() - kMostLines) + " more; --json has them all\n";
    return text;
}

} // namespace

std::string calibratedProfileText(const std::string& id, const RunCalibration& calibration)
{
    std::string text = hardwareProfileText(id, calibration.profile);
    if (calibration.interNode) {
        const std::size_t end = text.rfind("\n}");
        text.insert(end, ",\n  \"inter_node\": " + CalibrationJson(*calibration.interNode).dump());
    }
    return text;
}

nlohmann::ordered_json calibrationJson(const RunCalibration& of, const std::vector<UnknownKey>& unknown)
{
    CalibrationJson json;
    json["measured"] = {{"step_s", of.measuredSeconds}, {"steps", of.steps}};
    json["predicted"] = {{"step_s", of.predictedSeconds}, {"error", of.errorBefore()}};
    json["calibrated"] = {{"step_s", of.calibratedSeconds}, {"error", of.errorAfter()}};
    json["held_out"] = nullptr;
    if (of.heldOut)
        json["held_out"] = {{"learnt_steps", of.heldOut->learnt},
                            {"held_steps", of.heldOut->held},
                            {"measured_s", of.heldOut->measuredSeconds},
                            {"predicted_s", of.heldOut->predictedSeconds},
                            {"error", of.heldOut->error()}};
    json["kernels"] = classesJsonOf(of.kernels);
    json["collectives"] = classesJsonOf(of.transfers);
    json["profile"] = {{"kernels", of.profile.kernels.size()},
                       {"transfers", of.profile.transfers.size()},
                       {"points", pointsOf(of.profile.kernels) + pointsOf(of.profile.transfers)},
                       {"inter_node", of.interNode ? CalibrationJson(*of.interNode) : CalibrationJson()}};
    json["slow_ranks"] = CalibrationJson::array();
    for (const SlowRankOfRun& slow : of.slowRanks)
        json["slow_ranks"].push_back({{"rank", slow.rank}, {"factor", slow.factor}});
    json["unknown"] = CalibrationJson::array();
    for (const UnknownKey& key : unknown)
        json["unknown"].push_back({{"pointer", key.pointer}, {"why", key.why}});
    json["problems"] = of.problems;
    return json;
}

std::string calibrationText(const RunCalibration& of, const std::vector<UnknownKey>& unknown)
{
    std::string text = "step  " + numberText(of.measuredSeconds, Unit::seconds) + " measured (median of " +
                       countedText(static_cast<std::int64_t>(of.steps), "step") + ")\n  " +
                       numberText(of.predictedSeconds, Unit::seconds) + " predicted before (" + signedPercent(of.errorBefore()) +
                       ")\n  " + numberText(of.calibratedSeconds, Unit::seconds) + " with what was measured (" +
                       signedPercent(of.errorAfter()) + ")\n";
    if (of.heldOut)
        text += "  " + countedText(static_cast<std::int64_t>(of.heldOut->held), "step") + " that were held back take " +
                numberText(of.heldOut->measuredSeconds, Unit::seconds) + "; predicted from the other " +
                std::to_string(of.heldOut->learnt) + ": " + numberText(of.heldOut->predictedSeconds, Unit::seconds) + " (" +
                signedPercent(of.heldOut->error()) + ")\n";
    text += classLines("kernels, of a step and rank", of.kernels);
    if (!of.transfers.empty())
        text += classLines("collectives and sends, of a step and rank, without waiting", of.transfers);
    if (of.interNode)
        text += "links beyond a node reach " + percentText(*of.interNode) + " of their rate\n";
    if (!unknown.empty() || !of.problems.empty() || !of.slowRanks.empty()) {
        text += "to know\n";
        for (const SlowRankOfRun& slow : of.slowRanks)
            text += "  rank " + std::to_string(slow.rank) + " takes " + numberText(slow.factor, Unit::number) +
                    " × as long as its peers: kernels are measured as they are on these, and a scenario has it slow by "
                    "\"perturbations\": [{\"kind\": \"slow_gpu\", \"rank\": " +
                    std::to_string(slow.rank) + ", \"factor\": " + numberText(slow.factor, Unit::number) + "}]\n";
        for (const std::string& problem : of.problems)
            text += "  " + problem + "\n";
        for (const UnknownKey& key : unknown)
            text += "  " + key.pointer + ": " + key.why + "\n";
    }
    return text;
}

} // namespace sim
