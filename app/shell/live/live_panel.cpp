#include "app/shell/live/live_panel.h"

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

#include <utility>

namespace app {
namespace {

constexpr int kNarrowestLivePicture = 240, kNarrowestDifferences = 360; ///< of a table: its numbers and the words before them
constexpr int kNarrowestPanel = 484;                         ///< 1024 × 640 at text of 200 %, but for the bar that scrolls
constexpr int kLowestPanel = 420, kNarrowPanelsHeight = 960; ///< in lower windows the page scrolls

CurvePoint pointOf(const live::StepSummary& step)
{
    return {.step = step.step,
            .loss = step.loss,
            .gradientNorm = step.gradientNorm,
            .tokensPerSecond = step.tokensPerSecond,
            .seconds = step.endNs == 0 ? live::kUnknown : static_cast<double>(step.endNs - step.startNs) * 1e-9};
}

} // namespace

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
            m_curves.setParallelSeconds(m_picture->step, m_picture->parallel.stepSeconds());
        }
    }
    const bool wasSilent = isSilent(m_status.phase);
    showStatus(update);
    showNumbers(update);
    showParting();
    if (update.picture || update.prediction || !m_picture || wasSilent != isSilent(m_status.phase))
        showTimelines();
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
    if (command == ViewCommand::clear && target == m_curvesCanvas) // which has no part in what is selected
        target = m_gridCanvas;
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
