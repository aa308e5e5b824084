#include "app/shell/live/live_panel.h"

#include "app/session/plain_words.h"
#include "app/shell/live/difference_table.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/card_row.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/run_header.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"

#include <QAction>
#include <QButtonGroup>
#include <QCursor>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr int kNarrowestLivePicture = 240, kNarrowestDifferences = 360; ///< of a table: its numbers and the words before them
constexpr int kNarrowestPanel = 484;                         ///< 1024 × 640 at text of 200 %, but for the bar that scrolls
constexpr int kLowestPanel = 420, kNarrowPanelsHeight = 960; ///< in lower windows the page scrolls

QString durationOf(std::int64_t ns)
{
    return durationQuantity(static_cast<double>(ns) * kSecondsPerNs).text();
}

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

CurvePoint pointOf(const live::StepSummary& step)
{
    return {.step = step.step,
            .loss = step.loss,
            .gradientNorm = step.gradientNorm,
            .tokensPerSecond = step.tokensPerSecond,
            .seconds = step.endNs == 0 ? live::kUnknown : static_cast<double>(step.endNs - step.startNs) * kSecondsPerNs};
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

LivePanel::LivePanel(Renderer renderer, QWidget* parent)
    : QWidget(parent), m_grid(m_selection, lightTheme()), m_curves(lightTheme()), m_timelines(m_selection, lightTheme()),
      m_dot(new QLabel), m_name(new ElidedLabel("heading")), m_headline(new ElidedLabel("muted")), m_detail(new QLabel),
      m_detailFrame(new QFrame), m_parting(new QLabel), m_partingFrame(new QFrame), m_calibrate(new QToolButton),
      m_clocks(new QButtonGroup(this)), m_loss(new MetricCard(tr("Loss"), Better::lower)),
      m_step(new MetricCard(tr("Step, wall clock"), Better::lower)),
      m_parallel(new MetricCard(tr("Step, as if parallel"), Better::lower)),
      m_tokens(new MetricCard(tr("Tokens a second"), Better::higher)),
      m_memory(new MetricCard(tr("Fullest rank"), Better::lower)), m_spans(new MetricCard(tr("Spans"), Better::neither)),
      m_rows(new QSplitter(Qt::Vertical)), m_upper(new QSplitter(Qt::Horizontal)),
      m_gridCanvas(new CanvasWidget(m_grid, renderer)), m_curvesCanvas(new CanvasWidget(m_curves, renderer)),
      m_timelinesCanvas(new CanvasWidget(m_timelines, renderer)), m_lastUsed(m_timelinesCanvas),
      m_differences(new DifferenceTable), m_theme(&lightTheme())
{
    constexpr int kDot = 10;
    m_dot->setFixedSize(kDot, kDot);
    m_dot->setAccessibleName(tr("State of the run"));
    auto* name = new QWidget;
    auto* nameRow = new QHBoxLayout(name);
    nameRow->setContentsMargins(0, 0, 0, 0);
    nameRow->setSpacing(12);
    nameRow->addWidget(m_dot, 0, Qt::AlignVCenter);
    nameRow->addWidget(m_name, 1);
    m_clocks->setExclusive(true);
    auto* bothClocks = new QWidget;
    auto* clocks = new QHBoxLayout(bothClocks);
    clocks->setContentsMargins(0, 0, 0, 0);
    clocks->setSpacing(0);
    const auto clock = [&](const QString& text, const QString& what, LiveClock id, const char* role) {
        auto* button = new QToolButton;
        button->setText(text);
        button->setToolTip(what);
        button->setAccessibleDescription(what);
        button->setCheckable(true);
        setRole(button, role);
        m_clocks->addButton(button, static_cast<int>(id));
        clocks->addWidget(button);
    };
    clock(tr("Wall clock"), tr("As it was: on fewer cores than ranks they take turns"), LiveClock::wall, "segmentLeft");
    clock(tr("As if parallel"),
          tr("The measured work replayed with a device for every rank: what to compare with the prediction"), LiveClock::parallel,
          "segmentRight");
    connect(m_clocks, &QButtonGroup::idClicked, this, [this](int id) { setClock(static_cast<LiveClock>(id)); });
    m_header = new RunHeader(name, m_headline, {bothClocks});

    setRole(m_detailFrame, "notice");
    m_detail->setWordWrap(true);
    m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_detail->setTextFormat(Qt::PlainText);
    auto* detail = new QHBoxLayout(m_detailFrame);
    detail->setContentsMargins(16, 8, 16, 8);
    detail->addWidget(m_detail);
    m_detailFrame->hide();

    setRole(m_partingFrame, "notice");
    m_parting->setWordWrap(true);
    m_parting->setTextFormat(Qt::PlainText);
    setRole(m_calibrate, "button");
    auto* parting = new QHBoxLayout(m_partingFrame);
    parting->setContentsMargins(16, 6, 12, 6);
    parting->addWidget(m_parting, 1);
    parting->addWidget(m_calibrate);
    m_partingFrame->hide();

    constexpr int kLowest = 140;
    for (CanvasWidget* canvas : {m_gridCanvas, m_curvesCanvas, m_timelinesCanvas}) {
        canvas->setMinimumHeight(kLowest);
        canvas->setFocusPolicy(Qt::StrongFocus);
        connect(canvas, &CanvasWidget::viewChanged, this, [this, canvas] { selectionMayHaveChanged(*canvas); });
    }
    m_gridCanvas->setAccessibleName(tr("Rank grid of the run"));
    m_curvesCanvas->setAccessibleName(tr("Loss and step time"));
    m_timelinesCanvas->setAccessibleName(tr("Predicted and measured timeline"));
    m_timelines.setAskBecause([this](const Becauses& of, Rect at) { openBecause(*m_timelinesCanvas, of, at); });
    m_grid.setHint(tr("They appear once the run has told what it is.").toStdString());
    m_curves.setChosen([this](int step) { Q_EMIT stepChosen(step); });

    for (QWidget* part : std::initializer_list<QWidget*>{m_gridCanvas, m_curvesCanvas, m_differences}) {
        part->setMinimumWidth(part == m_differences ? kNarrowestDifferences : kNarrowestLivePicture);
        m_upper->addWidget(part);
    }
    m_rows->addWidget(m_upper);
    m_rows->addWidget(m_timelinesCanvas);
    for (QSplitter* splitter : {m_rows, m_upper}) {
        splitter->setHandleWidth(1);
        splitter->setChildrenCollapsible(false);
    }
    constexpr int kTenth = 100, kUpperShare = 1, kLowerShare = 2; // sixteen ranks twice in a window 900 pixels high
    m_upper->setSizes({4 * kTenth, 3 * kTenth, 3 * kTenth});
    m_rows->setSizes({kUpperShare * 10 * kTenth, kLowerShare * 10 * kTenth});
    for (int i = 0; i < m_upper->count(); ++i)
        m_upper->setStretchFactor(i, i == 0 ? 4 : 3);
    m_rows->setStretchFactor(0, kUpperShare);
    m_rows->setStretchFactor(1, kLowerShare);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_detailFrame);
    column->addWidget(m_partingFrame);
    column->addWidget(new CardRow({m_loss, m_step, m_parallel, m_tokens, m_memory, m_spans}));
    column->addWidget(m_rows, 1);
    setMinimumSize(kNarrowestPanel, kLowestPanel);
    setClock(LiveClock::parallel);
    startAnew({});
}

/// Where they have no room beside each other, grid, curves and table stand below each other, and the page scrolls.
void LivePanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    const bool narrow = width() < 2 * kNarrowestLivePicture + kNarrowestDifferences + 2 * m_upper->handleWidth();
    const Qt::Orientation wanted = narrow ? Qt::Vertical : Qt::Horizontal;
    if (wanted == m_upper->orientation())
        return;
    m_upper->setOrientation(wanted);
    setMinimumHeight(narrow ? kNarrowPanelsHeight : kLowestPanel);
}

LivePanel::~LivePanel()
{
    delete m_rows; // with the canvases, before the views they show
}

void LivePanel::setActions(const QList<QAction*>& actions)
{
    m_header->setActions(actions);
}

void LivePanel::setCalibrate(QAction& action)
{
    m_calibrate->setDefaultAction(&action);
    m_calibrate->setToolButtonStyle(Qt::ToolButtonTextOnly);
    connect(&action, &QAction::enabledChanged, this, &LivePanel::showParting);
}

void LivePanel::setOthersCores(double cores)
{
    m_othersCores = cores;
    showParting();
}

/// Both as if parallel, the one clock on which they can be compared.
void LivePanel::showParting()
{
    QString text;
    if (m_wholePicture && m_wholePicture->parallel.timeUse && m_prediction && m_prediction->simulation) {
        const sim::Simulation& predicted = *m_prediction->simulation;
        text = partingText(
            static_cast<double>(m_wholePicture->parallel.stepNs) * kSecondsPerNs, predicted.metrics().stepTimeSeconds,
            m_prediction->calibrated || !predicted.scenario().cluster.efficiency.profile.empty(), m_calibrate->isEnabled(),
            m_othersCores, isSilent(m_status.phase), predicted.scenario().live.dtype == "fp64");
    }
    m_parting->setText(text);
    m_partingFrame->setVisible(!text.isEmpty());
}

void LivePanel::startAnew(const QString& name)
{
    m_othersCores = 0;
    m_earlier.keep({m_runName.toStdString(), std::exchange(m_learns, {}), m_curves.points()});
    m_curves.setEarlier({}, {}); // until it is known what this one learns
    m_runName = name;
    m_name->setText(name);
    m_run.reset();
    m_prediction.reset();
    m_uncalibratedSeconds.reset();
    m_picture.reset();
    m_wholePicture.reset();
    m_status = {};
    m_pinned.reset();
    m_selection = m_shownSelection = {};
    m_curves.clear();
    m_grid.setHint(tr("They appear once the run has told what it is.").toStdString());
    m_grid.setStep({});
    m_grid.setNow({});
    if (m_clockBefore)
        showClock(*std::exchange(m_clockBefore, std::nullopt));
    m_differences->showNothing(tr("The first step tells."));
    for (MetricCard* card : {m_loss, m_step, m_parallel, m_tokens, m_memory, m_spans}) {
        card->setValue({QStringLiteral("–"), {}});
        card->setNote(QStringLiteral(" ")); // keeps its line, so that nothing moves when the first step comes
    }
    m_lastSeconds = 0;
    showParting();
    showPrediction();
    showTimelines();
    for (CanvasWidget* canvas : {m_gridCanvas, m_curvesCanvas, m_timelinesCanvas})
        canvas->requestFrame();
}

void LivePanel::show(const LiveUpdate& update)
{
    if (update.run && update.run != m_run) {
        if (m_run) { // another run at the same address
            const QString name = QString::fromStdString(update.run->name);
            startAnew(name);
        }
        m_run = update.run;
        m_name->setText(QString::fromStdString(m_run->name));
        m_curves.setPlannedSteps(m_run->plannedSteps);
        m_learns = learnedBy(m_run->scenarioJson);
        if (const EarlierRuns::Run* run = m_earlier.comparableWith(m_learns))
            m_curves.setEarlier(run->name == m_run->name ? std::string() : run->name, run->points);
        if (m_run->scenarioJson.empty()) { // a job that something else started: nothing to compare it with
            m_clockBefore = m_clock;
            showClock(LiveClock::wall);
            m_grid.setHint(tr("This job told no scenario: rankscope-live collect FILE lays its ranks out, and predicts them.")
                               .toStdString());
            m_gridCanvas->requestFrame();
        }
    }
    if (update.prediction) {
        if (update.prediction->calibrated && m_prediction && !m_prediction->calibrated && m_prediction->simulation)
            m_uncalibratedSeconds = m_prediction->simulation->metrics().stepTimeSeconds;
        m_prediction = update.prediction;
        m_grid.setStep({m_prediction->simulation, nullptr});
        m_gridCanvas->requestFrame();
        showPrediction();
    }
    if (!update.steps.empty()) {
        std::vector<CurvePoint> points;
        for (const live::StepSummary& step : update.steps)
            if (step.endNs != 0)
                points.push_back(pointOf(step));
        m_curves.add(points);
        m_curvesCanvas->requestFrame();
    }
    if (!update.ranks.empty()) {
        std::vector<RankNow> now;
        for (const RankReading& rank : update.ranks)
            now.push_back({rank.bytes, rank.peakBytes, rank.lastAction});
        m_grid.setNow(std::move(now));
        m_gridCanvas->requestFrame();
    }
    if (update.picture) {
        m_picture = update.picture;
        if (m_picture->complete && m_picture->parallel.timeUse) {
            m_wholePicture = m_picture;
            m_curves.setParallelSeconds(m_picture->step, static_cast<double>(m_picture->parallel.stepNs) * kSecondsPerNs);
        }
    }
    const bool wasSilent = isSilent(m_status.phase);
    showStatus(update);
    showNumbers(update);
    showParting();
    if (update.picture || update.prediction || !m_picture || wasSilent != isSilent(m_status.phase))
        showTimelines();
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
        m_parallel->setValue(durationQuantity(static_cast<double>(m_wholePicture->parallel.stepNs) * kSecondsPerNs));
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
    return m_uncalibratedSeconds ? tr("%1, %2 before calibrating").arg(text, durationQuantity(*m_uncalibratedSeconds).text())
                                 : text;
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
                            .arg(durationQuantity(seconds).text(), QString::fromStdString(simulation.scenario().cluster.name))
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
            QString note = durationOf(shown.stepNs);
            if (m_prediction && m_prediction->simulation && picture->complete)
                note += QStringLiteral(", %1").arg(deviationText(static_cast<double>(shown.stepNs) * kSecondsPerNs,
                                                                 m_prediction->simulation->metrics().stepTimeSeconds));
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

void LivePanel::setPinned(std::optional<int> step)
{
    m_pinned = step;
    showStep();
    showTimelines();
}

void LivePanel::setKernels(bool kernels)
{
    m_kernels = kernels;
    showPrediction();
    showTimelines();
}

void LivePanel::setClock(LiveClock clock)
{
    m_clockBefore.reset(); // somebody's choice
    showClock(clock);
}

void LivePanel::showClock(LiveClock clock)
{
    m_clock = clock;
    m_clocks->button(static_cast<int>(clock))->setChecked(true);
    m_curves.setAsIfParallel(clock == LiveClock::parallel);
    showTimelines();
}

void LivePanel::setTheme(const Theme& theme)
{
    m_theme = &theme;
    m_grid.setTheme(theme);
    m_curves.setTheme(theme);
    m_timelines.setTheme(theme);
    for (CanvasWidget* canvas : {m_gridCanvas, m_curvesCanvas, m_timelinesCanvas})
        canvas->requestFrame();
}

bool LivePanel::isComplete() const
{
    return m_picture && m_picture->complete && m_prediction && !m_curves.points().empty();
}

CanvasWidget& LivePanel::canvas(LivePicture picture) const
{
    switch (picture) {
    case LivePicture::grid:
        return *m_gridCanvas;
    case LivePicture::curves:
        return *m_curvesCanvas;
    case LivePicture::timelines:
        break;
    }
    return *m_timelinesCanvas;
}

bool LivePanel::runCommand(ViewCommand command, bool fast)
{
    const QWidget* pointed = childAt(mapFromGlobal(QCursor::pos()));
    CanvasWidget* target = m_lastUsed;
    for (CanvasWidget* canvas : {m_gridCanvas, m_curvesCanvas, m_timelinesCanvas})
        if (pointed == canvas || canvas->isAncestorOf(pointed))
            target = canvas;
    if (isOfTimeline(command) && m_timelinesCanvas->isVisibleTo(this))
        target = m_timelinesCanvas;
    const bool changed = target->runCommand(command, fast);
    selectionMayHaveChanged(*target);
    return changed;
}

LivePicture LivePanel::usedPicture() const
{
    return m_lastUsed == m_gridCanvas     ? LivePicture::grid
           : m_lastUsed == m_curvesCanvas ? LivePicture::curves
                                          : LivePicture::timelines;
}

View& LivePanel::usedView()
{
    return *figures()[static_cast<std::size_t>(usedPicture())].view;
}

std::vector<FigureSource> LivePanel::figures()
{
    const auto figure = [this](const QString& title, const char* name, auto& view, LivePicture picture) {
        const CanvasWidget& shown = canvas(picture);
        return FigureSource{title, QLatin1String(name), &view, [&view](const Theme& theme) { view.setTheme(theme); },
                            (shown.isVisibleTo(this) ? shown : usedCanvas()).size()};
    };
    return {figure(tr("Rank grid"), "grid", m_grid, LivePicture::grid),
            figure(tr("Loss and step time"), "curves", m_curves, LivePicture::curves),
            figure(tr("Predicted and measured timeline"), "timelines", m_timelines, LivePicture::timelines)};
}

QString LivePanel::runName() const
{
    return m_run ? QString::fromStdString(m_run->name) : m_runName;
}

void LivePanel::selectionMayHaveChanged(CanvasWidget& by)
{
    m_lastUsed = &by;
    if (m_selection == m_shownSelection)
        return;
    m_shownSelection = m_selection;
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelinesCanvas})
        if (canvas != &by)
            canvas->requestFrame();
}

} // namespace app
