#include "app/session/training_plan.h"

#include "app/session/edit.h"
#include "sim/error.h"
#include "sim/program/states.h"
#include "sim/scenario/document.h"
#include "sim/text/number_text.h"

#include <QFile>
#include <QObject>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

namespace app {
namespace {

constexpr int kMostTrainedRanks = 256; ///< beyond, taking turns is all they would do
constexpr int kRanksOfShrunk = 64;
constexpr double kShareOfMemory = 0.7;
constexpr double kGflopsOfCore = 40; ///< single precision, what a core of these years reaches in a whole step
constexpr double kBytesOfGib = 1024.0 * 1024 * 1024;
constexpr double kSlowStepSeconds = 600;

struct ElementBytes {
    double weight, gradient, optimizer;
};
/// AdamW: two moments; bf16 also keeps weights in single precision.
ElementBytes elementBytes(const std::string& dtype)
{
    if (dtype == "fp64")
        return {8, 8, 16};
    if (dtype == "bf16")
        return {2, 4, 12};
    return {4, 4, 8};
}

double bytesOf(sim::Precision precision)
{
    switch (precision) {
    case sim::Precision::fp32:
    case sim::Precision::tf32:
        return 4;
    case sim::Precision::fp8:
    case sim::Precision::mxfp8:
    case sim::Precision::nvfp4:
    case sim::Precision::bf16:
    case sim::Precision::fp16:
        break;
    }
    return 2;
}

QString gibText(std::int64_t bytes)
{
    const double gib = static_cast<double>(bytes) / kBytesOfGib;
    if (gib >= 1024)
        return QObject::tr("%1 TiB").arg(gib / 1024, 0, 'f', 0);
    return gib < 1 ? QObject::tr("%1 MiB").arg(std::max(1LL, std::llround(gib * 1024)))
                   : QObject::tr("%1 GiB").arg(gib, 0, 'f', gib < 10 ? 1 : 0);
}

QString secondsText(double seconds)
{
    if (seconds < 1)
        return QObject::tr("well under a second");
    constexpr double kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kYear = 365 * kDay;
    for (const auto& [unit, text] : {std::pair{kYear, QObject::tr("about %1 years")},
                                     {kDay, QObject::tr("about %1 days")},
                                     {kHour, QObject::tr("about %1 hours")},
                                     {kMinute, QObject::tr("about %1 min")}})
        if (seconds >= 2 * unit)
            return text.arg(std::llround(seconds / unit));
    return QObject::tr("about %1 s").arg(std::llround(seconds));
}

/// kB of a line of /proc/meminfo.
std::int64_t availableBytes()
{
    QFile file(QStringLiteral("/proc/meminfo"));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    for (const QByteArray& line : file.readAll().split('\n'))
        if (line.startsWith("MemAvailable:"))
            return line.mid(13).trimmed().split(' ').value(0).toLongLong() * 1024;
    return 0;
}

void halveLayout(sim::Layout& layout, sim::ScheduleSettings& schedule)
{
    while (layout.worldSize() > kRanksOfShrunk) {
        int& axis = layout.dp > 1 ? layout.dp : layout.cp > 1 ? layout.cp : layout.pp > 2 ? layout.pp : layout.tp;
        if (&axis == &layout.pp)
            axis = std::max(2, axis / 2); // layers are dealt anew, and schedules of pipelines need one
        else
            axis = axis % 2 != 0 ? 1 : axis / 2;
    }
    layout.ep = std::gcd(layout.ep, layout.tp * layout.cp * layout.dp);
    layout.etp = std::min(layout.etp, layout.tp);
    layout.dpShard = layout.dp * layout.cp;
    layout.placement = sim::PlacementRule::packed;
    layout.explicitPlacement.clear();
    schedule.microbatchGroup = std::min(schedule.microbatchGroup, layout.pp);
}

/// As many queries to a key-value head as the model has, as far as tp can cut them.
int keyValueHeadsOf(int heads, int sharing, int tp)
{
    for (int shared = std::max(1, heads / sharing); shared > 1; --shared)
        if (heads % shared == 0 && (shared % tp == 0 || tp % shared == 0))
            return shared;
    return 1;
}

void shrinkAttention(sim::Model& model, const sim::Layout& layout, int length, int shorterLength)
{
    constexpr int kHeadDim = 16, kFewestHeads = 4, kParts = 4;
    const int sharing = std::max(1, model.numAttentionHeads / std::max(1, model.numKeyValueHeads));
    model.numAttentionHeads = layout.tp * std::max(1, kFewestHeads / layout.tp);
    model.numKeyValueHeads = keyValueHeadsOf(model.numAttentionHeads, sharing, layout.tp);
    model.headDim = kHeadDim;
    if (model.isLatentAttention()) {
        model.numKeyValueHeads = model.numAttentionHeads;
        model.qLoraRank = model.qLoraRank > 0 ? 2 * kHeadDim : 0;
        model.kvLoraRank = model.qkNopeHeadDim = model.vHeadDim = kHeadDim;
        model.qkRopeHeadDim = model.qkRopeHeadDim > 0 ? kHeadDim / 2 : 0;
        model.headDim = model.qkNopeHeadDim + model.qkRopeHeadDim;
    }
    for (int* seen : {&model.slidingWindow, &model.attentionChunkSize})
        if (*seen > 0) // what sees less than all still does
            *seen = *seen < length ? shorterLength / kParts : shorterLength;
}

void shrinkExperts(sim::Model& model, const sim::Layout& layout)
{
    constexpr int kFewest = 4, kGroups = 2;
    model.numExperts = layout.ep * std::max(1, kFewest / layout.ep);
    model.numExpertsPerTok = std::min(model.numExpertsPerTok, std::min(2, model.numExperts));
    model.moeIntermediateSize = model.hiddenSize;
    model.firstKDenseReplace = std::min(model.firstKDenseReplace, 1);
    model.numSharedExperts = std::min(model.numSharedExperts, 1);
    const bool isGrouped = model.chosenGroups < model.expertGroups && model.numExperts % kGroups == 0 &&
                           model.numExperts / kGroups >= model.numExpertsPerTok;
    model.expertGroups = isGrouped ? kGroups : 1;
    model.chosenGroups = 1;
}

void shrinkModel(sim::Model& model, const sim::Layout& layout, int stages, int length, int shorterLength)
{
    constexpr int kHeadDim = 16, kVocabulary = 256;
    model.base.clear();
    model.name = "tiny, shaped like " + model.name;
    model.numHiddenLayers = stages;
    shrinkAttention(model, layout, length, shorterLength);
    model.hiddenSize = model.numAttentionHeads * kHeadDim;
    model.intermediateSize = 2 * model.hiddenSize;
    model.vocabSize = (kVocabulary + layout.tp - 1) / layout.tp * layout.tp;
    model.maxPositionEmbeddings = shorterLength;
    if (!model.layerTypes.empty())
        model.layerTypes.resize(static_cast<std::size_t>(stages), model.layerTypes.back());
    if (model.numExperts > 0)
        shrinkExperts(model, layout);
}

} // namespace

Machine thisMachine()
{
    Machine machine;
    machine.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    machine.freeBytes = availableBytes();
    if (!QFile::exists(QStringLiteral("/dev/nvidiactl")))
        machine.cudaProblem = QObject::tr("no NVIDIA driver on this machine (/dev/nvidiactl is missing)");
    return machine;
}

TrainingPlan planTraining(const sim::Simulation& simulation, const Machine& machine, const std::string& dtype)
{
    const sim::Scenario& scenario = simulation.scenario();
    const sim::Layout& layout = scenario.layout;
    TrainingPlan plan;
    plan.ranks = layout.worldSize();
    const ElementBytes bytes = elementBytes(dtype);
    const double shard = std::max(1, layout.dpShard);
    const double element =
        bytes.weight / (layout.zeroStage >= 3 ? shard : 1) + bytes.gradient / (layout.zeroStage >= 2 ? shard : 1) +
        (sim::addsUpWhole(scenario) ? bytes.gradient : 0) + bytes.optimizer / (layout.zeroStage >= 1 ? shard : 1);
    double states = 0, activations = 0, parameters = 0;
    const auto ranksOfStage = static_cast<double>(plan.ranks) / std::max(1, layout.pp);
    for (const sim::PipelineRankMetrics& rank : simulation.metrics().perPipelineRank) {
        states += ranksOfStage * static_cast<double>(rank.parameters) * element;
        activations +=
            ranksOfStage * static_cast<double>(rank.memory.activations) * bytes.weight / bytesOf(scenario.training.precision);
        parameters += static_cast<double>(rank.parameters) * layout.tp;
    }
    plan.stateBytes = std::llround(states);
    plan.activationBytes = std::llround(activations);
    const double tokens = static_cast<double>(scenario.training.globalBatchSize) * scenario.training.sequenceLength;
    constexpr double kFlopsOfParameter = 6; // a forward and a backward, a token
    plan.stepSeconds =
        kFlopsOfParameter * parameters * tokens / (kGflopsOfCore * 1e9 * machine.cores) * (dtype == "fp64" ? 2 : 1);

    const std::int64_t need = plan.stateBytes + plan.activationBytes;
    const QString memory = QObject::tr("about %1 of memory: %2 for weights, gradients and optimizer, %3 for activations")
                               .arg(gibText(need), gibText(plan.stateBytes), gibText(plan.activationBytes));
    const QString cores = QString::fromStdString(sim::countedText(machine.cores, "core"));
    plan.text = plan.ranks == 1 ? QObject::tr("One rank on %1.").arg(cores)
                : plan.ranks <= machine.cores
                    ? QObject::tr("%1 ranks, each on a core of its own (of %2).").arg(plan.ranks).arg(machine.cores)
                    : QObject::tr("%1 ranks take turns on %2: the wall clock shows that, the as-if-parallel clock "
                                  "takes it out.")
                          .arg(plan.ranks)
                          .arg(cores);
    plan.text +=
        QObject::tr(" It takes %1%2. A step takes %3 on the CPU.")
            .arg(memory, machine.freeBytes > 0 ? QObject::tr("; %1 are free").arg(gibText(machine.freeBytes)) : QString(),
                 secondsText(plan.stepSeconds));
    QStringList problems;
    if (plan.ranks > kMostTrainedRanks)
        problems << QObject::tr("%1 ranks are too many to take turns on %2; up to %3 make sense.")
                        .arg(plan.ranks)
                        .arg(cores)
                        .arg(kMostTrainedRanks);
    if (machine.freeBytes > 0 && static_cast<double>(need) > kShareOfMemory * static_cast<double>(machine.freeBytes))
        problems << QObject::tr("It needs about %1, and %2 are free.").arg(gibText(need), gibText(machine.freeBytes));
    else if (plan.stepSeconds > kSlowStepSeconds)
        problems << QObject::tr("A step would take %1 on %2.").arg(secondsText(plan.stepSeconds), cores);
    plan.problem = problems.join(QLatin1Char(' '));
    plan.fits = problems.isEmpty();
    return plan;
}

sim::Scenario shrunk(const sim::Scenario& scenario, const sim::Catalogue& catalogue)
{
    constexpr int kShortestSequence = 64, kMostMicrobatches = 16;
    sim::Scenario tiny = scenario;
    const int microbatches = scenario.microbatches();
    halveLayout(tiny.layout, tiny.schedule);
    const sim::Layout& layout = tiny.layout;
    const int unit = 2 * layout.cp * layout.tp * std::max(1, tiny.schedule.sequenceSlices);
    tiny.training.sequenceLength = unit * std::max(1, (kShortestSequence + unit - 1) / unit);
    tiny.training.microBatchSize = 1;
    const int perPipeline =
        microbatches <= kMostMicrobatches ? microbatches : std::max(kMostMicrobatches / layout.pp, 2) * layout.pp;
    tiny.training.globalBatchSize = perPipeline * layout.dp;
    tiny.training.precision = sim::Precision::fp32;
    tiny.schedule.layersPerStage.assign(static_cast<std::size_t>(tiny.stages()), 1);
    tiny.training.recomputeLayers = 0;
    tiny.perturbations.clear();
    shrinkModel(tiny.model, layout, tiny.stages(), scenario.training.sequenceLength, tiny.training.sequenceLength);
    if (tiny.live.dtype == "bf16")
        tiny.live.dtype = "fp32";
    tiny.live.device = "cpu";
    sim::ScenarioDocument document = sim::ScenarioDocument::parse(sim::resolvedText(tiny));
    apply(document, makeClusterEdit(document, &tiny, catalogue, "laptop"));
    auto resolved = document.resolve(catalogue);
    if (!resolved.scenario)
        throw sim::ScenarioError(std::move(resolved.problems));
    return *resolved.scenario;
}

} // namespace app
