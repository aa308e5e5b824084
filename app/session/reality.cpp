#include "app/session/reality.h"

#include "sim/error.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <array>

namespace app {
namespace {

constexpr std::array<std::pair<const char*, Measurement::Quantity>, 3> kQuantities{{
    {"step_time_s", Measurement::Quantity::stepTime},
    {"model_tflops_per_gpu", Measurement::Quantity::modelFlopRate},
    {"peak_memory_gib", Measurement::Quantity::peakMemory},
}};

/// A value of "set" as ScenarioDocument::set takes it.
std::string settingText(const QJsonValue& value)
{
    return value.isString() ? value.toString().toStdString() : std::to_string(value.toInt()); // numbers of these keys are whole
}

Measurement measurementOf(const QJsonObject& json, const std::string& where)
{
    Measurement out;
    out.scenario = json.value(QLatin1String("scenario")).toString();
    const QJsonObject job = json.value(QLatin1String("job")).toObject();
    out.gpus = job.value(QLatin1String("gpus")).toInt();
    out.stages = job.value(QLatin1String("pp")).toInt();
    out.sequences = job.value(QLatin1String("sequences")).toInt();
    const QJsonObject set = json.value(QLatin1String("set")).toObject();
    for (auto key = set.begin(); key != set.end(); ++key)
        out.set.emplace_back(key.key().toStdString(), settingText(key.value()));
    bool isKnown = false;
    for (const auto& [name, quantity] : kQuantities) {
        if (json.value(QLatin1String("quantity")).toString() == QLatin1String(name)) {
            out.quantity = quantity;
            isKnown = true;
        }
    }
    out.measured = json.value(QLatin1String("measured")).toDouble();
    out.how = json.value(QLatin1String("how")).toString();
    out.row = json.value(QLatin1String("row")).toString();
    const QJsonObject source = json.value(QLatin1String("source")).toObject();
    out.title = source.value(QLatin1String("title")).toString();
    out.reference = source.value(QLatin1String("ref")).toString();
    out.table = source.value(QLatin1String("table")).toString();
    for (const QJsonValue& reason : json.value(QLatin1String("differs")).toArray())
        out.differs << reason.toString();
    if (out.scenario.isEmpty() || !isKnown || !(out.measured > 0) || out.title.isEmpty())
        throw sim::Error(where + " needs a scenario, a quantity (step_time_s, model_tflops_per_gpu, peak_memory_gib), what was "
                                 "measured, above 0, and its source");
    return out;
}

/// What makes the job: not its names, what it is part of, or how it would be trained here.
sim::Scenario jobOf(sim::Scenario scenario)
{
    scenario.name.clear();
    scenario.description.clear();
    scenario.source.clear();
    scenario.training.tokens = 0;
    scenario.live = {};
    scenario.uncertainty = {};
    return scenario;
}

} // namespace

BesideMeasured besideMeasured(Measurement::Quantity quantity, const sim::Simulation& simulation)
{
    const sim::Metrics& m = simulation.metrics();
    const sim::Uncertainty& sure = simulation.scenario().uncertainty;
    switch (quantity) {
    case Measurement::Quantity::stepTime:
        return {m.stepTimeSeconds, m.stepTimeSeconds * sure.stepLow, m.stepTimeSeconds * sure.stepHigh};
    case Measurement::Quantity::modelFlopRate: // the same work in a longer step
        return {m.modelTflopsPerGpu, m.modelTflopsPerGpu / sure.stepHigh, m.modelTflopsPerGpu / sure.stepLow};
    case Measurement::Quantity::peakMemory:
        return {m.peakMemoryGib, m.peakMemoryGib * sure.memoryLow, m.peakMemoryGib * sure.memoryHigh};
    }
    return {};
}

Reality Reality::read(const std::filesystem::path& assets)
{
    Reality out;
    const std::filesystem::path path = assets / "reality.json";
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        return out;
    QJsonParseError failure;
    const QJsonDocument json = QJsonDocument::fromJson(file.readAll(), &failure);
    if (failure.error != QJsonParseError::NoError)
        throw sim::Error(path.string() + ": " + failure.errorString().toStdString());
    const QJsonArray measurements = json.object().value(QLatin1String("measurements")).toArray();
    for (const QJsonValue& measurement : measurements)
        out.m_measurements.push_back(measurementOf(measurement.toObject(), path.string() + ": measurement " +
                                                                               std::to_string(out.m_measurements.size() + 1)));
    out.m_jobs.resize(out.m_measurements.size());
    return out;
}

sim::Scenario Reality::scenarioOf(const Measurement& measurement, const sim::Catalogue& catalogue) const
{
    sim::ScenarioDocument document =
        sim::ScenarioDocument::readFile(catalogue.scenarios() / (measurement.scenario.toStdString() + ".json"));
    for (const auto& [pointer, value] : measurement.set)
        document.set(pointer, value);
    return sim::resolvedScenario(document, catalogue);
}

std::vector<const Measurement*> Reality::of(const sim::Scenario& scenario, const sim::Catalogue& catalogue) const
{
    std::vector<const Measurement*> out;
    std::optional<sim::Scenario> job;
    for (std::size_t i = 0; i < m_measurements.size(); ++i) {
        const Measurement& measurement = m_measurements[i];
        if (measurement.gpus != scenario.layout.worldSize() || measurement.stages != scenario.layout.pp ||
            measurement.sequences != scenario.training.globalBatchSize)
            continue;
        if (!m_jobs[i]) {
            try {
                m_jobs[i] = jobOf(scenarioOf(measurement, catalogue));
            } catch (const sim::Error&) {
                m_jobs[i] = sim::Scenario(); // no gallery here, or another one: nothing is that job
            }
        }
        if (!job)
            job = jobOf(scenario);
        if (*m_jobs[i] == *job)
            out.push_back(&measurement);
    }
    return out;
}

} // namespace app
