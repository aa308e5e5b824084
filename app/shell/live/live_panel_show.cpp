// What the live panel shows of a run: its state, the numbers of a step, and the step beside its prediction.
#include "app/shell/live/live_panel.h"

#include "app/session/plain_words.h"
#include "app/shell/live/difference_table.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"

#include <QLabel>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

/// "+23 % against the prediction", "21 times the prediction".
QString deviationText(double measured, double predicted)
{
    constexpr double kManyTimes = 3; // percents say nothing any more
    const double ratio = measured / predicted;
    if (ratio >= kManyTimes)
        return QObject::tr("%1 times the prediction").arg(separated(std::llround(ratio)));
    const double percent = std::abs(ratio - 1) * 100;
    const QString sign = ratio >= 1 ? QStringLiteral("+") : QStringLiteral("−");
    return QObject::tr("%1%2 % against the prediction")
        .arg(sign, percent < 10 ? QString::number(percent, 'f', 1) : separated(std::llround(percent)));
}

constexpr double kBusyCores = 0.25; ///< of others: from here on measured times are those of a shared machine

QString coresText(double cores)
{
    return QString::number(cores, 'f', 1);
}

} // namespace

QString partingText(double measured, double predicted, bool isCalibrated, bool canCalibrate, double othersCores, bool isOver,
                    bool isDouble)
{
    constexpr double kAgree = 1.25; // as near as predictions are meant to come
    if (predicted <= 0 || measured <= 0)
        return {};
    const bool isBusy = othersCores >= kBusyCores;
    const QString busy = (isOver ? QObject::tr("This machine was busy: other programs used %1 of its cores.")
                                 : QObject::tr("This machine is busy: other programs use %1 of its cores."))
                             .arg(coresText(othersCores));
    const double ratio = measured / predicted;
    if (ratio < kAgree && ratio > 1 / kAgree)
        return isBusy ? busy : QString();
    QString text =
        QObject::tr("Measured %1, predicted %2.").arg(durationQuantity(measured).text(), durationQuantity(predicted).text());
    if (isBusy)
        text += QLatin1Char(' ') + busy;
    if (isDouble) // measuring the machine in single precision brings it no nearer
        return text + QLatin1Char(' ') +
               QObject::tr("It trains in double precision (fp64), and predictions are of single: train it in fp32 to compare.");
    if (isCalibrated)
        return text + QLatin1Char(' ') +
               (canCalibrate ? QObject::tr("Calibrating anew may help if it was busy then, too.")
                             : QObject::tr("Calibrating anew, once this training is over, may help if it was busy then, too."));
    return text + QLatin1Char(' ') +
           (canCalibrate
                ? QObject::tr("The prediction does not know this machine: Calibrate measures it.")
                : QObject::tr("The prediction does not know this machine: Calibrate can measure it once this training is over."));
}

/// Both as if parallel, the one clock on which they can be compared.
void LivePanel::showParting()
{
    QString text;
    if (m_wholePicture && m_wholePicture->parallel.timeUse && m_prediction && m_prediction->simulation) {
        const sim::Simulation& predicted = *m_prediction->simulation;
        text = partingText(m_wholePicture->parallel.stepSeconds(), predicted.metrics().stepTimeSeconds,
                           m_prediction->calibrated || !predicted.scenario().cluster.efficiency.profile.empty(),
                           m_calibrate->isEnabled(), m_othersCores, isSilent(m_status.phase),
                           predicted.scenario().live.dtype == "fp64");
    }
    m_parting->setText(text);
    m_partingFrame->setVisible(!text.isEmpty());
}

void LivePanel::showStatus(const LiveUpdate& update)
{
    m_status = update.status;
    QString line = m_status.headline;
    if (m_run)
        line += QStringLiteral("  ·  ") + tr("%1 on %2, %3")
                                              .arg(counted(m_run->worldSize, "rank"), QString::fromStdString(m_run->device),
                                                   QString::fromStdString(m_run->host));
    m_headline->setText(line);
    const Color color = isWorse(m_status.phase)                 ? m_theme->error
                        : m_status.phase == LivePhase::training ? m_theme->fill(sim::OpClass::backwardWeight)
                        : m_status.phase == LivePhase::paused   ? m_theme->fill(sim::OpClass::backward)
                                                                : m_theme->mutedText;
    m_dot->setStyleSheet(QStringLiteral("background: %1; border-radius: 5px;").arg(toQColor(color).name()));
    m_dot->setAccessibleDescription(m_status.headline);

    QStringList lines = update.replies;
    if (!m_status.detail.isEmpty())
        lines = m_status.detail.split(QLatin1Char('\n')) + lines;
    m_detail->setToolTip(lines.join(QLatin1Char('\n')));
    constexpr qsizetype kMostLines = 6;
    if (lines.size() > kMostLines)
        lines = lines.mid(0, kMostLines - 1) << tr("… %1 more lines").arg(lines.size() - kMostLines + 1);
    m_detail->setText(lines.join(QLatin1Char('\n')));
    setRole(m_detail, m_status.phase == LivePhase::cannotStart || m_status.phase == LivePhase::refused ? "error" : "muted");
    m_detailFrame->setVisible(!lines.isEmpty());
}

/// The step that was chosen, else the newest; nullptr before the first.
const CurvePoint* LivePanel::shownPoint() const
{
    const std::vector<CurvePoint>& points = m_curves.points();
    const auto chosen = std::find_if(points.rbegin(), points.rend(), [&](const CurvePoint& point) {
        return m_pinned ? point.step == *m_pinned : std::isfinite(point.seconds); // its numbers have come
    });
    return chosen != points.rend() ? &*chosen : nullptr;
}

/// Beside a run that learns the same, how far the two are apart: rounding alone, where both are right.
QString LivePanel::lossNote() const
{
    const std::vector<CurvePoint>& points = m_curves.points();
    const CurvePoint& last = *shownPoint();
    for (const CurvePoint& other : m_curves.earlier())
        if (other.step == last.step && std::isfinite(other.loss)) {
            const double apart = std::abs(last.loss - other.loss);
            return apart == 0 ? tr("as dashed, in every digit") : tr("%1 off the dashed one").arg(apart, 0, 'g', 2);
        }
    return points.size() < 2 ? QString() : tr("%1 at step %2").arg(points.front().loss, 0, 'g', 4).arg(points.front().step);
}

/// All of one step.
void LivePanel::showStep()
{
    const CurvePoint* const point = shownPoint();
    if (point != nullptr || m_pinned) {
        constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
        const CurvePoint last = point != nullptr ? *point
                                                 : CurvePoint{.step = *m_pinned,
                                                              .loss = kUnknown,
                                                              .gradientNorm = kUnknown,
                                                              .tokensPerSecond = kUnknown,
                                                              .seconds = kUnknown};
        const auto orNone = [](double value, auto quantity) { // what that step does not have is of no other
            return std::isfinite(value) ? quantity(value) : Quantity{QStringLiteral("–"), {}};
        };
        m_loss->setValue(orNone(last.loss, [](double loss) {
            return Quantity{QString::asprintf("%#.4g", loss), {}}; // as many digits each time
        }));
        m_loss->setNote(std::isfinite(last.loss) ? lossNote() : QStringLiteral(" "));
        m_step->setValue(orNone(last.seconds, durationQuantity));
        m_step->setNote(tr("step %1").arg(last.step));
        m_tokens->setValue(orNone(last.tokensPerSecond, [](double tokens) {
            return Quantity{separated(std::llround(tokens)), {}};
        }));
        m_tokens->setNote(tr("of all ranks, wall clock"));
    }
    if (m_wholePicture && m_wholePicture->parallel.timeUse) {
        m_parallel->setValue(durationQuantity(m_wholePicture->parallel.stepSeconds()));
        const double predicted =
            m_prediction && m_prediction->simulation ? m_prediction->simulation->metrics().stepTimeSeconds : 0;
        const QString before =
            m_uncalibratedSeconds ? tr(", was %1").arg(durationQuantity(*m_uncalibratedSeconds).text()) : QString();
        const QString which = tr("step %1").arg(m_wholePicture->step);
        const QString told = predicted > 0 ? tr("predicted %1").arg(durationQuantity(predicted).text()) + before : which;
        const bool isStill = m_pinned || hasEnded(m_status.phase); // else each is the newest there is
        const bool isOther = isStill && point != nullptr && point->step != m_wholePicture->step;
        m_parallel->setNote(predicted > 0 && isOther ? which + tr("; ") + told : told);
    }
}

void LivePanel::showNumbers(const LiveUpdate& update)
{
    showStep();
    std::int64_t most = 0, peak = 0;
    for (const RankReading& rank : update.ranks) {
        most = std::max(most, rank.bytes);
        peak = std::max(peak, rank.peakBytes);
    }
    if (peak > 0) {
        m_memory->setValue(memoryQuantity(gib(peak))); // what is held at this moment is less, and after the end next to nothing
        m_memory->setNote(tr("at its peak; now %1").arg(memoryQuantity(gib(most)).text()));
    }
    if (update.state.spansRecorded > 0) {
        m_spans->setValue(countQuantity(static_cast<double>(update.state.spansRecorded)));
        const auto lost = static_cast<std::int64_t>(update.state.spansDropped + update.missed);
        m_spans->setNote(lost == 0 ? tr("none dropped") : tr("%1 dropped").arg(separated(lost)));
    }
}

/// "12.1 ms, 10.5 ms before calibrating"
QString LivePanel::predictionText(double seconds) const
{
    const QString text = durationQuantity(seconds).text();
    const QString told =
        m_uncalibratedSeconds ? tr("%1, %2 before calibrating").arg(text, durationQuantity(*m_uncalibratedSeconds).text()) : text;
    const QString unknown = m_prediction ? m_prediction->unknownKeys.join(QStringLiteral(", ")) : QString();
    return unknown.isEmpty() ? told : tr("%1, without %2, which this version does not know").arg(told, unknown);
}

void LivePanel::showPrediction()
{
    ComparedTimelinesView::Side side{.caption = tr("Predicted").toStdString()};
    double seconds = live::kUnknown;
    if (m_prediction && m_prediction->simulation) {
        const sim::Simulation& simulation = *m_prediction->simulation;
        side.trace = m_kernels ? m_prediction->kernels : m_prediction->timeUse;
        side.simulation = m_prediction->simulation;
        seconds = simulation.metrics().stepTimeSeconds;
        side.note = tr("%1  ·  %2, efficiencies of %3")
                        .arg(predictionText(seconds), QString::fromStdString(simulation.scenario().cluster.name),
                             QString::fromStdString(simulation.scenario().cluster.efficiency.id))
                        .toStdString();
        if (simulation.scenario().cluster.efficiency.id.empty())
            side.note = tr("%1  ·  %2, not calibrated")
                            .arg(predictionText(seconds), QString::fromStdString(simulation.scenario().cluster.name))
                            .toStdString();
    } else {
        side.message = m_prediction ? m_prediction->problem.toStdString() : std::string();
    }
    m_timelines.setUpper(std::move(side));
    m_curves.setPredictedSeconds(seconds);
}

/// What cannot be replayed, as it is not done or its records broke off with the connection: the last step that can.
const StepPicturePtr& LivePanel::shownPicture() const
{
    const bool isReplayed = m_picture && m_picture->complete && m_picture->parallel.timeUse;
    const bool fallsBack = m_picture && !isReplayed && !m_pinned && m_clock == LiveClock::parallel && m_wholePicture;
    return fallsBack ? m_wholePicture : m_picture;
}

void LivePanel::showTimelines()
{
    const StepPicturePtr& picture = shownPicture();
    ComparedTimelinesView::Side side;
    const QString clockText = m_clock == LiveClock::wall ? tr("wall clock") : tr("as if parallel");
    side.caption = tr("Measured, %1").arg(clockText).toStdString();
    if (!picture) {
        side.caption = tr("Measured").toStdString();
        side.message = (isSilent(m_status.phase)                ? tr("No step was received.")
                        : m_status.phase == LivePhase::starting ? tr("It appears with the first step.")
                                                                : tr("The first step is on its way."))
                           .toStdString();
        m_differences->showNothing(isSilent(m_status.phase) ? tr("No step was received.") : tr("The first step tells."));
    } else {
        const StepPicture::OnClock& shown = picture->on(m_clock);
        side.trace = m_kernels ? shown.kernels : shown.timeUse;
        side.simulation = m_prediction ? m_prediction->simulation : nullptr;
        side.waits = shown.waits.waits;
        side.whyNoWaits = shown.waits.whyNone;
        if (shown.problem.isEmpty()) {
            QString note = durationQuantity(shown.stepSeconds()).text();
            if (m_prediction && m_prediction->simulation && picture->complete)
                note += QStringLiteral(", %1").arg(
                    deviationText(shown.stepSeconds(), m_prediction->simulation->metrics().stepTimeSeconds));
            note += QStringLiteral("  ·  ") + tr("step %1").arg(picture->step) +
                    (picture->complete          ? QString()
                     : isSilent(m_status.phase) ? tr(", broken off")
                                                : tr(", still running")) +
                    (m_pinned ? tr(", kept") : QString());
            if (picture != m_picture && m_picture->complete)
                note += tr(", the last whole one: %1").arg(m_picture->parallel.problem);
            side.note = note.toStdString();
        }
        side.message = asSentence(shown.problem).toStdString();
        if (shown.difference)
            m_differences->show(tr("STEP %1, %2").arg(picture->step).arg(clockText.toUpper()), *shown.difference);
        else if (m_prediction && !m_prediction->simulation)
            m_differences->showNothing(tr("There is no prediction: %1").arg(m_prediction->problem));
        else
            m_differences->showNothing(!shown.problem.isEmpty() ? asSentence(shown.problem)
                                       : m_run && m_run->scenarioJson.empty()
                                           ? tr("There is no prediction: the job told no scenario.")
                                       : isSilent(m_status.phase)  ? tr("The step broke off: a whole one is needed to compare.")
                                       : m_curves.points().empty() ? tr("The first whole step tells.")
                                                                   : tr("The next whole step tells."));
        m_curves.setShownStep(picture->step, m_pinned.has_value());
    }
    m_timelines.setLower(std::move(side));
    m_timelinesCanvas->requestFrame();
    m_curvesCanvas->requestFrame();
    m_shownSelection = m_selection;
}

} // namespace app
