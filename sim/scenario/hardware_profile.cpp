#include "sim/scenario/hardware_profile.h"

#include "sim/scenario/schema.h"
#include "sim/scenario/unforeseen.h"
#include "sim/scenario/words.h"

namespace sim {
namespace {

Json kernelPoint(const MeasuredPoint& point)
{
    Json json{{"m", number(point.m)}, {"n", number(point.n)}};
    if (point.k != 1)
        json["k"] = number(point.k);
    if (point.batch != 1)
        json["batch"] = number(point.batch);
    json["us"] = number(point.microseconds);
    return json;
}

Json transferPoint(const MeasuredPoint& point)
{
    return {{"bytes", number(point.m)}, {"members", number(point.n)}, {"us", number(point.microseconds)}};
}

Json curvesToJson(const std::vector<MeasuredCurve>& curves, Json (*toPoint)(const MeasuredPoint&))
{
    Json list = Json::array();
    for (const MeasuredCurve& curve : curves) {
        Json points = Json::array();
        for (const MeasuredPoint& point : curve.points)
            points.push_back(toPoint(point));
        list.push_back({{"name", curve.name}, {"points", std::move(points)}});
    }
    return list;
}

/// A JSON list of curves with a line for each measurement.
std::string listText(const Json& curves)
{
    std::string text = "[";
    for (std::size_t c = 0; c < curves.size(); ++c) {
        text += (c == 0 ? "\n" : ",\n") + std::string("    {\"name\": ") + curves[c].at("name").dump() + ", \"points\": [";
        const Json& points = curves[c].at("points");
        for (std::size_t i = 0; i < points.size(); ++i)
            text += (i == 0 ? "\n      " : ",\n      ") + points[i].dump();
        text += "]}";
    }
    return text + "]";
}

} // namespace

std::vector<MeasuredCurve> curvesFromJson(const Json& list)
{
    std::vector<MeasuredCurve> curves;
    for (const Json& entry : list) {
        MeasuredCurve curve{.name = memberOr<std::string>(entry, "name", {})};
        if (const Json* points = memberOf(entry, "points"))
            for (const Json& point : *points) {
                MeasuredPoint measured{.microseconds = memberOr<double>(point, "us", 0)};
                const bool isTransfer = memberOf(point, "bytes") != nullptr;
                measured.m = memberOr<double>(point, isTransfer ? "bytes" : "m", 1);
                measured.n = memberOr<double>(point, isTransfer ? "members" : "n", 1);
                measured.k = memberOr<double>(point, "k", 1);
                measured.batch = memberOr<double>(point, "batch", 1);
                curve.points.push_back(measured);
            }
        curves.push_back(std::move(curve));
    }
    return curves;
}

Json toJson(const HardwareProfile& profile)
{
    Json json = Json::object();
    if (!profile.device.empty())
        json["device"] = profile.device;
    if (profile.precision)
        json["precision"] = toWord(kPrecisionWords, *profile.precision);
    if (profile.kernelsAlone)
        json["kernels_alone"] = true;
    if (!profile.kernels.empty())
        json["kernels"] = curvesToJson(profile.kernels, kernelPoint);
    if (!profile.transfers.empty())
        json["transfers"] = curvesToJson(profile.transfers, transferPoint);
    return json;
}

std::string hardwareProfileText(const std::string& id, const HardwareProfile& profile)
{
    const Json json = toJson(profile);
    std::string text = "{\n  \"id\": " + Json(id).dump();
    for (const auto& [key, value] : json.items())
        text += ",\n  \"" + key + "\": " + (value.is_array() ? listText(value) : value.dump());
    return text + "\n}\n";
}

HardwareProfile readHardwareProfile(const std::string& text, const std::string& file, const Schema& schema)
{
    const Json json = readSafely(file, [&] { return parseStrict(text, file); });
    auto problems = schema.check(json, file, "efficiency");
    if (!problems.empty())
        throw ScenarioError(std::move(problems));
    HardwareProfile profile{.device = memberOr<std::string>(json, "device", {})};
    profile.kernelsAlone = memberOr<bool>(json, "kernels_alone", false);
    if (memberOf(json, "precision") != nullptr)
        profile.precision = fromWord(kPrecisionWords, memberOr<std::string>(json, "precision", {}), Precision::fp32);
    if (const Json* curves = memberOf(json, "kernels"))
        profile.kernels = curvesFromJson(*curves);
    if (const Json* curves = memberOf(json, "transfers"))
        profile.transfers = curvesFromJson(*curves);
    return profile;
}

} // namespace sim
