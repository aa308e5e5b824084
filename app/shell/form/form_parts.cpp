#include "app/shell/form/form_parts.h"

#include "app/shell/widgets/format.h"
#include "sim/mesh/placement.h"
#include "sim/schedule/families/families.h"
#include "sim/text/spoken_name.h"

#include <QObject>

#include <algorithm>
#include <array>

namespace app {
namespace {

using Scenario = sim::Scenario;

QString tr(const char* text)
{
    return QObject::tr(text);
}

QStringList modelSummary(const Scenario& s)
{
    const sim::Model& m = s.model;
    QStringList out{counted(m.numHiddenLayers, "layer"), tr("%1 wide").arg(separated(m.hiddenSize))};
    if (m.numExperts > 0)
        out << counted(m.numExperts, "expert");
    return out << counted(m.numAttentionHeads, "head");
}

/// "4 InfiniBand cards of 25 GB/s, each shared by 2 GPUs".
QString networkCards(int gpusPerNode, const QString& network, const sim::ToldBandwidth& bandwidth)
{
    const int cards = (gpusPerNode + bandwidth.gpus - 1) / bandwidth.gpus;
    const QString speed = shortNumber(bandwidth.gbs);
    if (cards == 1)
        return tr("one %1 card of %2 GB/s, shared by %3 GPUs").arg(network, speed, QString::number(bandwidth.gpus));
    return (gpusPerNode % bandwidth.gpus == 0 ? tr("%1 %2 cards of %3 GB/s, each shared by %4 GPUs")
                                              : tr("%1 %2 cards of %3 GB/s, each shared by up to %4 GPUs"))
        .arg(QString::number(cards), network, speed, QString::number(bandwidth.gpus));
}

QStringList hardwareSummary(const Scenario& s)
{
    QStringList out{QStringLiteral("%1 GiB").arg(shortNumber(s.cluster.gpu.memoryGib)),
                    tr("%1 a node").arg(s.cluster.gpusPerNode)};
    for (std::size_t tier = 0; tier < s.cluster.tiers.size(); ++tier) {
        const sim::ToldBandwidth bandwidth = sim::toldBandwidth(s.cluster, tier);
        const QString network = QString::fromStdString(sim::spokenNetwork(s.cluster.tiers[tier].name));
        out << (bandwidth.gpus > 1 ? networkCards(s.cluster.gpusPerNode, network, bandwidth)
                                   : QStringLiteral("%1 %2 GB/s").arg(network, shortNumber(bandwidth.gbs)));
    }
    return out;
}

QStringList layoutSummary(const Scenario& s)
{
    QStringList out;
    const sim::Layout& l = s.layout;
    for (const auto& [name, size] : {std::pair{"tp", l.tp}, {"cp", l.cp}, {"pp", l.pp}, {"dp", l.dp}, {"ep", l.ep}}) {
        if (size > 1)
            out << QStringLiteral("%1 %2").arg(QLatin1String(name)).arg(size);
    }
    if (out.isEmpty())
        out << tr("one rank");
    if (l.zeroStage > 0)
        out << QStringLiteral("ZeRO %1").arg(l.zeroStage);
    return out;
}

QStringList scheduleSummary(const Scenario& s)
{
    const sim::ScheduleFamily* family = sim::findScheduleFamily(s.schedule.kind);
    return {family ? QString::fromUtf8(family->title.data(), static_cast<qsizetype>(family->title.size()))
                   : QString::fromStdString(s.schedule.kind),
            tr("batch %1").arg(separated(s.training.globalBatchSize))};
}

QStringList trainingSummary(const Scenario& s)
{
    const auto word = [](const sim::Precision p) {
        switch (p) {
        case sim::Precision::fp32:
            return "FP32";
        case sim::Precision::tf32:
            return "TF32";
        case sim::Precision::bf16:
            return "BF16";
        case sim::Precision::fp16:
            return "FP16";
        case sim::Precision::fp8:
            return "FP8";
        case sim::Precision::mxfp8:
            return "MXFP8";
        case sim::Precision::nvfp4:
            return "NVFP4";
        }
        return "";
    };
    return {counted(s.training.sequenceLength, "token"), QString::fromLatin1(word(s.training.precision))};
}

QStringList overlapSummary(const Scenario& s)
{
    QStringList out;
    const sim::Overlap& o = s.training.overlap;
    for (const auto& [name, on] : {std::pair{"gradients", o.gradReduce},
                                   {"parameters", o.paramGather},
                                   {"pipeline", o.p2p},
                                   {"tensor", o.tpComm},
                                   {"experts", o.epComm}}) {
        if (on)
            out << tr(name);
    }
    return out.isEmpty() ? QStringList{tr("nothing")} : out;
}

QStringList perturbationSummary(const Scenario& s)
{
    const auto count = [&](sim::PerturbationKind kind) {
        return std::count_if(s.perturbations.begin(), s.perturbations.end(), [&](const auto& p) { return p.kind == kind; });
    };
    QStringList out;
    if (const auto gpus = count(sim::PerturbationKind::slowGpu))
        out << (gpus == 1 ? tr("1 slow GPU") : tr("%1 slow GPUs").arg(gpus));
    if (const auto links = count(sim::PerturbationKind::slowLink))
        out << (links == 1 ? tr("1 slow link") : tr("%1 slow links").arg(links));
    if (count(sim::PerturbationKind::jitter) > 0)
        out << tr("jitter");
    if (count(sim::PerturbationKind::failure) > 0)
        out << tr("failures");
    return out.isEmpty() ? QStringList{tr("none")} : out;
}

QStringList liveSummary(const Scenario& s)
{
    return {counted(s.live.steps, "step"), tr("rate %1").arg(s.live.learningRate)};
}

constexpr std::array kParts{
    FormPart{KeySection::model},
    FormPart{KeySection::modelDetails, "MODEL DETAILS", nullptr, false, modelSummary},
    FormPart{KeySection::experts, nullptr, "Mixture of experts"},
    FormPart{KeySection::latentAttention, nullptr, "Latent attention"},
    FormPart{KeySection::cluster, ""},
    FormPart{KeySection::gpu, "HARDWARE DETAILS", nullptr, false, hardwareSummary},
    FormPart{KeySection::links, nullptr, "Link"},
    FormPart{KeySection::efficiency, nullptr, "Share of the peak that is reached"},
    FormPart{KeySection::layout, "LAYOUT", nullptr, true, layoutSummary},
    FormPart{KeySection::schedule, "SCHEDULE", nullptr, true, scheduleSummary},
    FormPart{KeySection::training, "TRAINING", nullptr, true, trainingSummary},
    FormPart{KeySection::overlap, "OVERLAP", nullptr, false, overlapSummary},
    FormPart{KeySection::perturbations, "PERTURBATIONS", "Perturbation", false, perturbationSummary},
    FormPart{KeySection::live, "LIVE TRAINING", nullptr, false, liveSummary},
};

} // namespace

std::span<const FormPart> formParts()
{
    return kParts;
}

QString clusterNote(const sim::Scenario& s)
{
    const int gpus = s.cluster.gpus(), used = s.layout.worldSize();
    const QString note = counted(gpus, "GPU");
    return used < gpus ? note + QStringLiteral(" · ") + tr("%1 idle").arg(separated(gpus - used)) : note;
}

QString batchNote(const sim::Scenario& s)
{
    const int microbatches = s.microbatches();
    const double tokens = static_cast<double>(s.training.globalBatchSize) * s.training.sequenceLength;
    return (microbatches == 1 ? tr("1 micro-batch") : tr("%1 micro-batches").arg(separated(microbatches))) +
           QStringLiteral(" · ") + tr("%1 tokens").arg(countQuantity(tokens).text());
}

} // namespace app
