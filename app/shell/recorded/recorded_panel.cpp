#include "app/shell/recorded/recorded_panel.h"

#include "app/session/plain_words.h"
#include "app/shell/recorded/cache_question.h"
#include "app/shell/recorded/recorded_cards.h"
#include "app/shell/recorded/recorded_facts.h"
#include "app/shell/recorded/recorded_findings.h"
#include "app/shell/recorded/recorded_side.h"
#include "app/shell/recorded/recorded_simulated.h"
#include "app/shell/recorded/recorded_tables.h"
#include "app/shell/recorded/recorded_tabs.h"
#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/run_header.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/transport_bar.h"

#include <QAction>
#include <QComboBox>
#include <QCursor>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <iterator>
#include <utility>

namespace app {

RecordedPanel::RecordedPanel(Renderer renderer, QWidget* parent)
    : QWidget(parent), m_grid(m_selection, lightTheme()), m_timelines(m_selection, lightTheme()),
      m_name(new ElidedLabel("heading")), m_headline(new ElidedLabel("muted")), m_steps(new ChoiceBox), m_rowsBox(new ChoiceBox),
      m_header(new RunHeader(m_name, m_headline, {m_steps, m_rowsBox})), m_pages(new QStackedWidget), m_notice(new QFrame),
      m_noticeText(wordsLabel("error")), m_cacheQuestion(new CacheQuestion), m_readingText(wordsLabel("muted")),
      m_readingProblem(wordsLabel("error")), m_progress(new QProgressBar), m_cancel(new QPushButton(tr("Cancel"))),
      m_openOther(new QPushButton(tr("Open Another…"))), m_cards(new RecordedCards), m_splitRows(new QSplitter(Qt::Vertical)),
      m_upper(new QSplitter(Qt::Horizontal)), m_gridCanvas(new CanvasWidget(m_grid, renderer)),
      m_timelinesCanvas(new CanvasWidget(m_timelines, renderer)), m_lastUsed(m_timelinesCanvas),
      m_transport(new TransportBar(m_playback)), m_tabs(new RecordedTabs(tr("What is said of the run"))),
      m_findings(new RecordedFindings), m_predictionText(wordsLabel("muted12")), m_comparisonText(wordsLabel("muted12")),
      m_pathText(wordsLabel("muted12")), m_shapesText(wordsLabel("muted12")), m_side(new RecordedSide(*m_tabs)),
      m_facts(new RecordedFacts), m_simulated(new RecordedSimulated(m_selection, renderer)),
      m_shapes(new RecordedTable(tr("Kernels by shape")))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    buildHeader(*column);
    column->addWidget(m_pages, 1);
    buildReading();
    buildContent();
    forget();
}

RecordedPanel::~RecordedPanel()
{
    m_run.reset();
    delete m_splitRows; // with the canvases, before the views they show
}

/// Numbers that stand in more rows, and words in a narrow place, take room from no picture: the page is higher then, and scrolls.
void RecordedPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    constexpr int kLeast = 376, kNarrow = 560, kLeastNarrow = 716;
    setMinimumHeight(width() < kNarrow ? kLeastNarrow : kLeast);
}

void RecordedPanel::setActions(const QList<QAction*>& actions)
{
    m_header->setActions(actions);
}

void RecordedPanel::forget()
{
    m_playback.pause();
    m_place.reset();
    m_step = 0;
    m_problem.clear();
    m_selection = m_shownSelection = {};
    m_grid.setStep({});
    m_grid.setMeasured({});
    m_grid.setKnown({});
    m_grid.setLens(GridLens::busy);
    m_timelines.setUpper({});
    m_timelines.setUpperVisible(false);
    m_timelines.setLower({});
    m_steps->clear();
    m_notice->hide();
    m_cacheQuestion->hide();
    m_readingProblem->hide();
    forgetAnswers();
    for (RecordedTable* table : m_tables)
        if (table != nullptr)
            table->show({}, {});
    m_shapes->show({}, {});
    m_simulated->show(nullptr, nullptr);
    m_tabs->setCurrent(0);
}

/// What was asked of the run, and is of a layout.
void RecordedPanel::forgetAnswers()
{
    m_predictionText->setText(tr("A trace does not say which model ran on which cluster. “Predict” asks for a scenario that "
                                 "does; its layout, schedule and "
                                 "batch are then taken from what was recovered."));
    m_comparisonText->setText(tr("“Compare” reads another run of this job and says what takes longer in it."));
    for (const RecordedTab tab : {RecordedTab::prediction, RecordedTab::comparison})
        tableAt(tab)->show({}, {});
}

void RecordedPanel::open(std::unique_ptr<RecordedRun> run)
{
    RecordedRun::giveUp(std::exchange(m_run, std::move(run)));
    forget();
    m_name->setText(m_run->name());
    m_headline->setText(tr("Reading…"));
    m_readingText->setText(tr("Reading %1…").arg(m_run->name()));
    m_readingText->show();
    m_progress->setRange(0, 0);
    m_progress->show();
    m_cancel->show();
    m_openOther->hide();
    m_steps->hide();
    m_rowsBox->hide();
    m_pages->setCurrentIndex(0);
    RecordedRun* of = m_run.get();
    connect(of, &RecordedRun::progressed, this, [this](const QString& what, double share) {
        constexpr int kWhole = 1000;
        m_readingText->setText(what);
        m_progress->setRange(0, share < 0 ? 0 : kWhole);
        m_progress->setValue(share < 0 ? 0 : static_cast<int>(share * kWhole));
    });
    const auto end = [this](const QString& headline, const QString& why) {
        m_problem = why;
        m_headline->setText(headline);
        m_readingText->setText(headline);
        m_readingProblem->setText(why.left(4000));
        m_readingProblem->setVisible(!why.isEmpty());
        m_progress->hide();
        m_cancel->hide();
        m_openOther->show();
        Q_EMIT changed();
    };
    connect(of, &RecordedRun::cancelled, this, [end] { end(tr("Reading was cancelled."), {}); });
    connect(of, &RecordedRun::notRead, this,
            [end](const QString& why) { end(tr("This cannot be read as a recorded run."), why); });
    connect(of, &RecordedRun::recovered, this, &RecordedPanel::recovered);
    connect(of, &RecordedRun::pictureReady, this, &RecordedPanel::pictureReady);
    connect(of, &RecordedRun::predicted, this, &RecordedPanel::predicted);
    connect(of, &RecordedRun::compared, this, &RecordedPanel::showCompared);
    connect(of, &RecordedRun::failed, this, &RecordedPanel::tell);
    Q_EMIT changed();
}

void RecordedPanel::tell(const QString& what, const QString& why)
{
    m_place.reset(); // its step may be what failed
    m_problem = tr("%1: %2").arg(what, why);
    m_noticeText->setText(m_problem.left(2000));
    m_notice->show();
    Q_EMIT changed();
}

void RecordedPanel::recovered()
{
    const RecoveredRun& run = *m_run->run();
    const sim::Recovered& recovered = run.recovered;
    m_playback.pause();
    m_notice->hide();
    m_problem.clear();
    m_place.reset(); // one of the findings before
    forgetAnswers();
    m_headline->setText(recordedHeadline(run));

    m_steps->clear();
    for (const sim::RecoveredStep& step : recovered.steps.steps)
        m_steps->addItem(tr("%1 · %2").arg(asSentence(stepName(recovered.steps, step)), durationQuantity(step.seconds()).text()) +
                         (step.isOutlier ? tr(" · %1").arg(QString::fromUtf8(step.unlikeText())) : QString()));
    m_steps->setVisible(m_steps->count() > 0);
    m_rowsBox->show();
    showGrid();
    m_grid.setHint((run.whyNoGrid.isEmpty() ? tr("They appear with the step.") : run.whyNoGrid).toStdString());
    m_timelines.setUpper({});
    m_timelines.setUpperVisible(false);
    m_timelines.setLower(
        {.trace = nullptr,
         .simulation = nullptr,
         .caption = tr("Measured").toStdString(),
         .note = {},
         .message = (!recovered.steps.steps.empty() ? tr("The step is on its way.")
                     : run.recording->spanCount() == 0
                         ? tr("No step was recovered: nothing that ended is recorded, only where each rank stands.")
                         : tr("No step was recovered: there are no kernels and no collectives of a rank that is "
                              "known."))
                        .toStdString()});
    m_facts->show(run);
    showRanks(*tableAt(RecordedTab::ranks), run);
    showCommunication(*tableAt(RecordedTab::communication), run);
    app::showSteps(*tableAt(RecordedTab::steps), run);
    showKernelTimes(*tableAt(RecordedTab::kernels), run);
    m_shapesText->setText(shapesText(run));
    showShapes(*m_shapes, run);
    showPathOf(run.answers.path);
    m_simulated->show(&run, m_run->prediction());
    m_cards->show(run, m_run->prediction());
    m_findings->show(run);
    m_pages->setCurrentIndex(1);
    if (!recovered.steps.steps.empty())
        showStep((recovered.steps.steps.size() - 1) / 2);
    requestFrames();
    Q_EMIT changed();
}

void RecordedPanel::showPathOf(const sim::RankPath& path)
{
    m_pathText->setText(pathText(*m_run->run(), path));
    showPath(*tableAt(RecordedTab::path), *m_run->run(), path);
}

QString RecordedPanel::findingsText() const
{
    QStringList lines;
    if (m_run && m_run->run())
        for (const sim::RunFinding& finding : m_run->run()->answers.findings)
            lines << inOneLine(QString::fromStdString(finding.title)) + QLatin1Char('\t') +
                         inOneLine(QString::fromStdString(finding.detail));
    return lines.join(QLatin1Char('\n'));
}

void RecordedPanel::showStep(std::size_t step)
{
    if (!m_run || !m_run->run() || step >= m_run->run()->steps().steps.size())
        return;
    m_steps->setCurrentIndex(static_cast<int>(step));
    requestPicture(step);
}

/// As a person does, who then wants to see no finding of another step.
void RecordedPanel::chooseStep(std::size_t step)
{
    m_place.reset();
    showStep(step);
}

void RecordedPanel::requestPicture(std::size_t step)
{
    m_step = step;
    m_run->showStep(step, m_wantedRows, m_selection.selectedRank.value_or(-1));
    Q_EMIT changed();
}

void RecordedPanel::setRows(RecordedRows rows)
{
    const bool hadThreads = m_wantedRows == RecordedRows::hostThreads;
    m_wantedRows = rows;
    m_rowsBox->setCurrentIndex(static_cast<int>(rows));
    if (!m_run || !m_run->run())
        return;
    const bool isOfStep = m_run->picture() && m_run->picture()->step == m_step; // else the step's own picture is on its way
    const bool lacksStreams = rows != RecordedRows::timeUse && isOfStep && !hasStreamsOf(m_selection.selectedRank);
    if (!isOfStep || hadThreads != (rows == RecordedRows::hostThreads) || lacksStreams)
        requestPicture(m_step);
    else
        showTimelines();
}

/// Of a run with too many spans some ranks have streams at a time. Without a rank: whether any has.
bool RecordedPanel::hasStreamsOf(std::optional<int> rank) const
{
    const RecordedStepPicture& picture = *m_run->picture();
    if (!picture.streams)
        return false;
    for (std::size_t p = 0; rank && p < picture.streams->processes.size(); ++p)
        if (picture.streams->processes[p].rank == *rank)
            return picture.hasStreams[p];
    return true;
}

void RecordedPanel::pictureReady()
{
    const RecordedStepPicture& picture = *m_run->picture();
    m_playback.pause();
    m_selection.range.reset();
    m_selection.hoveredSpan.reset();
    m_selection.selectSpan(std::nullopt);
    m_selection.cursorNs = 0;
    showGrid();
    showPathOf(picture.path);
    m_playback.setSpan({0, picture.timeUse->endNs});
    m_playback.setPosition(0);
    m_transport->showPosition();
    showTimelines();
    if (m_place)
        showPlace(*std::exchange(m_place, std::nullopt));
    requestFrames();
    Q_EMIT changed();
}

/// Every rank of the prediction, where there is one, else of what was recovered; what they show was measured, where a step is
/// shown.
void RecordedPanel::showGrid()
{
    const RecordedStepPicturePtr& picture = m_run->picture();
    const SimulationPtr& grid = m_run->prediction() ? m_run->prediction()->prediction->simulation : m_run->run()->grid;
    m_grid.setKnown(m_run->prediction() ? KnownGrid() : m_run->run()->known); // a prediction has a layout and a cluster
    std::vector<MeasuredRank> measured = picture ? picture->ranks : std::vector<MeasuredRank>();
    if (grid) // nothing is predicted here: of a rank that no trace is of nothing is known
        measured.resize(sim::asIndex(grid->scenario().layout.worldSize()));
    m_grid.setMeasured(std::move(measured));
    m_grid.setStep(picture ? ShownStep{grid, picture->timeUse, picture->instants} : ShownStep{grid, nullptr});
}

void RecordedPanel::showTimelines()
{
    const RecordedStepPicturePtr& picture = m_run->picture();
    const RecordedPredictionPtr& prediction = m_run->prediction();
    m_timelines.setUpperVisible(prediction != nullptr);
    if (prediction) {
        const double seconds = prediction->prediction->simulation->metrics().stepTimeSeconds;
        const bool all = m_wantedRows != RecordedRows::timeUse;
        m_timelines.setUpper(
            {.trace = all ? prediction->prediction->kernels : prediction->prediction->timeUse,
             .simulation = prediction->prediction->simulation,
             .caption = tr("Predicted").toStdString(),
             .note = tr("%1  ·  model and cluster of %2").arg(durationQuantity(seconds).text(), prediction->name).toStdString(),
             .message = {},
             .model = all ? nullptr : prediction->ofTimeUse});
    }
    if (!picture)
        return;
    const sim::RecoveredStep& step = m_run->run()->steps().steps[picture->step];
    const bool all = m_wantedRows != RecordedRows::timeUse && picture->streams;
    const sim::RecoveredSteps& steps = m_run->run()->steps();
    QString note = tr("%1  ·  %2").arg(durationQuantity(step.seconds()).text(), stepName(steps, step));
    if (const std::string& why = m_run->run()->answers.whyNothingLasts; !why.empty())
        note += (all ? tr("  ·  marks alone: %1") : tr("  ·  empty: %1")).arg(QString::fromStdString(why));
    if (step.isOutlier)
        note +=
            tr(", %1 (the others %2)").arg(QString::fromUtf8(step.unlikeText()), durationQuantity(steps.usualSeconds()).text());
    if (const double drawn = static_cast<double>(picture->timeUse->endNs) * 1e-9; !step.isOneClock && drawn > step.seconds())
        note += tr(", drawn over %1: clocks are apart").arg(durationQuantity(drawn).text());
    else if (step.overlapsNext())
        note += tr(", drawn over %1: ranks begin the next one while others are in this one").arg(durationQuantity(drawn).text());
    if (const auto drawn = std::count(picture->hasStreams.begin(), picture->hasStreams.end(), true);
        all && drawn < std::ssize(picture->hasStreams))
        note += tr(", streams of %1 of %2 ranks: select another rank and choose the rows again for those around it")
                    .arg(separated(drawn), separated(std::ssize(picture->hasStreams)));
    m_timelines.setLower({.trace = all ? picture->streams : picture->timeUse,
                          .simulation = nullptr,
                          .caption = tr("Measured").toStdString(),
                          .note = note.toStdString(),
                          .message = {},
                          .model = all ? picture->ofStreams : picture->ofTimeUse});
    m_timelinesCanvas->requestFrame();
}

void RecordedPanel::predicted()
{
    const RecordedPrediction& prediction = *m_run->prediction();
    m_cards->show(*m_run->run(), m_run->prediction());
    m_facts->showUnknown(prediction.unknown);
    m_simulated->show(m_run->run().get(), m_run->prediction());
    if (prediction.calibration)
        showCalibration(*tableAt(RecordedTab::prediction), *prediction.calibration);
    else
        tableAt(RecordedTab::prediction)->show({}, {});
    m_predictionText->setText(predictionText(prediction));
    makeRoomForTwoTimelines();
    showGrid();
    showTimelines();
    setTab(RecordedTab::prediction);
    requestFrames();
    Q_EMIT changed();
}

void RecordedPanel::showCompared(const QString& with, const sim::RunDifference& difference)
{
    m_comparisonText->setText(comparisonText(with, difference));
    showDifference(*tableAt(RecordedTab::comparison), difference);
    setTab(RecordedTab::comparison);
    Q_EMIT changed();
}

void RecordedPanel::showFinding(std::size_t at)
{
    if (!m_run || !m_run->run() || at >= m_run->run()->answers.findings.size())
        return;
    const sim::RunFinding& finding = m_run->run()->answers.findings[at];
    Place place{.ranks = finding.ranks, .startNs = finding.startNs, .endNs = finding.endNs};
    if (finding.kind == "late-rank")
        place.lens = GridLens::straggler;
    else if (finding.kind == "uneven-stages" || finding.kind == "uneven-experts")
        place.lens = GridLens::busy;
    showPlace(place);
}

void RecordedPanel::showStretch(std::size_t at)
{
    if (!m_run || !m_run->run())
        return;
    const std::vector<sim::PathStretch> stretches =
        sim::stretchesOf(m_run->picture() ? m_run->picture()->path : m_run->run()->answers.path);
    if (at >= stretches.size())
        return;
    showPlace({.ranks = {m_run->run()->recovered.evidence.ranks[stretches[at].rank].rank},
               .startNs = stretches[at].startNs,
               .endNs = stretches[at].endNs});
}

void RecordedPanel::showPlace(const Place& place)
{
    const auto& steps = m_run->run()->steps().steps;
    const bool hasTime = place.endNs > place.startNs;
    if (hasTime) {
        const auto step = std::find_if(steps.begin(), steps.end(), [&](const sim::RecoveredStep& s) {
            return place.startNs >= s.startNs && place.startNs < s.endNs;
        });
        const auto at = static_cast<std::size_t>(step - steps.begin());
        if (step != steps.end() && (!m_run->picture() || m_run->picture()->step != at)) {
            m_place = place;
            showStep(at);
            return;
        }
    }
    if (!place.ranks.empty())
        m_selection.selectRanks(place.ranks, place.ranks.front());
    if (place.lens)
        m_grid.setLens(*place.lens);
    if (hasTime && m_run->picture()) {
        const std::int64_t endNs = m_run->picture()->timeUse->endNs, origin = m_run->picture()->originNs;
        const std::int64_t begin = std::clamp<std::int64_t>(place.startNs - origin, 0, endNs);
        const std::int64_t end = std::clamp<std::int64_t>(place.endNs - origin, 0, endNs);
        if (end > begin) {
            m_selection.range = TimeRange{begin, end};
            m_selection.cursorNs = begin;
            m_playback.setSpan(*m_selection.range);
            m_playback.setPosition(begin);
            if (end - begin < endNs) // of a whole step all is in sight
                m_timelinesCanvas->runCommand(ViewCommand::focusSelection);
        }
    }
    selectionMayHaveChanged(nullptr);
    requestFrames();
}

void RecordedPanel::setTab(RecordedTab tab)
{
    m_tabs->setCurrent(static_cast<int>(tab));
}

RecordedTable& RecordedPanel::table(RecordedTab tab) const
{
    return *tableAt(tab);
}

void RecordedPanel::setTheme(const Theme& theme, const QString& assets)
{
    m_grid.setTheme(theme);
    m_timelines.setTheme(theme);
    m_simulated->setTheme(theme);
    m_transport->setIcons(assets, theme);
    requestFrames();
}

CanvasWidget& RecordedPanel::usedCanvas() const
{
    return m_lastUsed->isVisibleTo(this) ? *m_lastUsed : *m_timelinesCanvas;
}

View& RecordedPanel::usedView()
{
    CanvasWidget* const used = &usedCanvas();
    View* simulated = m_simulated->viewOf(used);
    return simulated != nullptr   ? *simulated
           : used == m_gridCanvas ? static_cast<View&>(m_grid)
                                  : static_cast<View&>(m_timelines);
}

std::vector<FigureSource> RecordedPanel::figures()
{
    std::vector<FigureSource> out{{tr("Rank grid"), QStringLiteral("grid"), &m_grid,
                                   [this](const Theme& theme) { m_grid.setTheme(theme); }, m_gridCanvas->size()},
                                  {m_run->prediction() ? tr("Predicted and measured timeline") : tr("Timeline"),
                                   QStringLiteral("timeline"), &m_timelines,
                                   [this](const Theme& theme) { m_timelines.setTheme(theme); }, m_timelinesCanvas->size()}};
    std::vector<FigureSource> simulated = m_simulated->figures(m_gridCanvas->size());
    std::move(simulated.begin(), simulated.end(), std::back_inserter(out));
    return out;
}

Table RecordedPanel::shownTable() const
{
    const auto tab = static_cast<RecordedTab>(m_tabs->current());
    const QString text =
        tab == RecordedTab::findings ? tr("Finding") + QLatin1Char('\t') + tr("Detail") + QLatin1Char('\n') + findingsText()
        : tab == RecordedTab::facts
            ? tr("Fact") + QLatin1Char('\t') + tr("Sure") + QLatin1Char('\t') + tr("Why") + QLatin1Char('\n') + m_facts->text()
        : tab == RecordedTab::simulated ? tr("Simulated") + QLatin1Char('\n') + m_simulated->words()
                                        : tableAt(tab)->text();
    Table out;
    for (const QString& line : text.split(QLatin1Char('\n'))) {
        std::vector<std::string> cells;
        for (const QString& cell : line.split(QLatin1Char('\t')))
            cells.push_back(cell.toStdString());
        if (out.header.empty()) {
            out.header = std::move(cells);
        } else {
            cells.resize(out.header.size());
            out.rows.push_back(std::move(cells));
        }
    }
    return out;
}

QString RecordedPanel::headline() const
{
    return m_headline->text();
}

QString RecordedPanel::problem() const
{
    return m_problem;
}

bool RecordedPanel::isSettled() const
{
    return !m_run || !m_run->isBusy();
}

bool RecordedPanel::runCommand(ViewCommand command, bool fast)
{
    const QWidget* pointed = childAt(mapFromGlobal(QCursor::pos()));
    CanvasWidget* target = &usedCanvas();
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelinesCanvas})
        if (pointed == canvas || canvas->isAncestorOf(pointed))
            target = canvas;
    const bool isOfGrid = command >= ViewCommand::lensGroups && command <= ViewCommand::selectEpGroup;
    if (isOfTimeline(command))
        target = m_timelinesCanvas;
    const bool changed = (isOfGrid ? m_gridCanvas : target)->runCommand(command, fast);
    if (command == ViewCommand::clear)
        m_playback.pause(); // it would leave the begin again, and Esc never the page
    selectionMayHaveChanged(target);
    return changed;
}

void RecordedPanel::requestFrames(const CanvasWidget* except)
{
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelinesCanvas})
        if (canvas != except)
            canvas->requestFrame();
    m_simulated->requestFrame();
}

/// Played or dragged: the timelines go with it.
void RecordedPanel::moveCursor(std::int64_t ns)
{
    m_selection.cursorNs = ns;
    m_timelines.keepCursorInSight();
    selectionMayHaveChanged(nullptr);
    requestFrames();
}

void RecordedPanel::selectionMayHaveChanged(CanvasWidget* by)
{
    if (by != nullptr)
        m_lastUsed = by;
    if (m_selection == m_shownSelection)
        return;
    if (m_selection.range != m_shownSelection.range && m_run && m_run->picture())
        m_playback.setSpan(m_selection.range.value_or(TimeRange{0, m_run->picture()->timeUse->endNs}));
    m_shownSelection = m_selection;
    m_side->tell(m_selection.idle
                     ? tr("Rank %1: %2").arg(separated(m_selection.idle->rank), QString::fromStdString(m_selection.idle->why))
                     : QString());
    if (m_playback.positionNs() != m_selection.cursorNs)
        m_playback.setPosition(m_selection.cursorNs);
    m_transport->showPosition();
    requestFrames(by);
}

} // namespace app
