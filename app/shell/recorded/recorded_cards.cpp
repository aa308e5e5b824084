#include "app/shell/recorded/recorded_cards.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/metric_card.h"

#include <algorithm>

namespace app {
namespace {

/// How many steps there are, how they are told apart, and how many of them are not like the others.
QString stepsNote(const sim::RecoveredSteps& steps)
{
    const std::size_t count = steps.steps.size();
    if (steps.areGuessed && count > 0)
        return count == 1 ? QObject::tr("taken for one step: nothing tells steps apart")
                          : QObject::tr("%1 recordings, each taken for one step").arg(count);
    const auto parts = std::count_if(steps.steps.begin(), steps.steps.end(), [](const auto& step) { return step.isPart; });
    const auto unlike = std::count_if(steps.steps.begin(), steps.steps.end(), [](const auto& step) { return step.isOutlier; });
    QString note = count == 1 ? QObject::tr("1 step was recorded") : QObject::tr("%1 steps").arg(count);
    if (!steps.areMarked)
        note += QObject::tr(" by what recurs, unmarked");
    if (parts > 0)
        note += QObject::tr(", %1 recorded in part").arg(parts);
    if (unlike > parts)
        note += QObject::tr(", %1 unlike the others").arg(unlike - parts);
    else if (parts == 0 && count > 1)
        note += QObject::tr(", none unlike the others");
    return note;
}

} // namespace

RecordedCards::RecordedCards(QWidget* parent)
    : RecordedCards({new MetricCard(tr("Step, median"), Better::lower), new MetricCard(tr("Computing"), Better::higher),
                     new MetricCard(tr("Exposed communication"), Better::lower), new MetricCard(tr("Idle"), Better::lower),
                     new MetricCard(tr("Comes late"), Better::neither), new MetricCard(tr("Predicted"), Better::neither)},
                    parent)
{
}

RecordedCards::RecordedCards(const QList<MetricCard*>& all, QWidget* parent)
    : CardRow(all, parent), m_step(all[0]), m_computing(all[1]), m_exposed(all[2]), m_idle(all[3]), m_late(all[4]),
      m_predicted(all[5])
{
}

void RecordedCards::show(const RecoveredRun& run, const RecordedPredictionPtr& prediction)
{
    const auto& steps = run.steps();
    m_step->setValue(steps.steps.empty() ? Quantity{QStringLiteral("–"), {}} : durationQuantity(steps.medianSeconds));
    m_step->setTitle(!steps.areGuessed         ? tr("Step, median")
                     : steps.steps.size() == 1 ? tr("All recorded")
                                               : tr("Recording, median"));
    m_step->setNote(stepsNote(steps));
    double window = 0, computing = 0, exposed = 0, idle = 0, host = 0, comm = 0;
    for (const sim::RankTime& rank : run.answers.times.ranks) {
        window += static_cast<double>(rank.windowNs);
        computing += static_cast<double>(rank.computingNs);
        exposed += static_cast<double>(rank.exposedCommNs);
        idle += static_cast<double>(rank.idleNs);
        host += static_cast<double>(rank.hostBoundNs);
        comm += static_cast<double>(rank.commNs);
    }
    if (!sim::anyRan(run.answers.times.ranks))
        window = 0;
    const auto share = [&](MetricCard& card, double part, const QString& note) {
        card.setValue(window > 0 ? percentQuantity(part / window) : Quantity{QStringLiteral("–"), {}});
        card.setNote(window > 0 ? note : tr("no kernels that compute were recorded"));
    };
    share(*m_computing, computing, tr("of a step, mean of ranks"));
    share(*m_exposed, exposed,
          comm > 0 ? tr("%1 of communication hidden").arg(percentQuantity(1 - exposed / comm).text()) : tr("none"));
    share(*m_idle, idle,
          idle > 0 ? (host > 0 ? tr("%1 of it for the host").arg(percentQuantity(host / idle).text()) : tr("between kernels"))
                   : tr("never"));
    const sim::Arrivals& arrivals = run.answers.arrivals;
    if (arrivals.straggler >= 0) {
        const auto at = static_cast<std::size_t>(arrivals.straggler);
        m_late->setValue({tr("rank %1").arg(run.recovered.evidence.ranks[at].rank), {}});
        m_late->setNote(
            QString::fromUtf8(sim::latenessText(arrivals.ranks[at].why, sim::anyRan(run.answers.times.ranks)).data()));
    } else {
        m_late->setValue({arrivals.collectives == 0 ? QStringLiteral("–") : tr("nobody"), {}});
        m_late->setNote(arrivals.collectives == 0 ? tr("not to be told") : tr("clearly more than others"));
    }
    if (prediction) {
        const double seconds = prediction->prediction->simulation->metrics().stepTimeSeconds;
        m_predicted->setValue(durationQuantity(seconds));
        // Against the step on the card beside it: what calibrates leaves some steps out.
        const auto error = [&](double of) { return signedPercentText(of / steps.medianSeconds - 1); };
        m_predicted->setNote(prediction->calibration && steps.medianSeconds > 0
                                 ? tr("%1; calibrated %2").arg(error(seconds), error(prediction->calibration->calibratedSeconds))
                                 : tr("not calibrated"));
    } else {
        m_predicted->setValue({QStringLiteral("–"), {}});
        m_predicted->setNote(tr("model not known"));
    }
}

} // namespace app
