#include "app/shell/compare/compare_page.h"

#include "app/shell/widgets/action_buttons.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"
#include "app/views/compare/waterfall.h"
#include "sim/simulate/purpose_name.h"

#include <QAction>
#include <QFrame>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace app {
namespace {

QString timeOf(const SimulationPtr& simulation)
{
    return simulation ? durationQuantity(simulation->metrics().stepTimeSeconds).text() : QString();
}

/// Letters that two names begin with alike, up to the end of a word; 0 where they are the same.
qsizetype sharedBegin(const QString& a, const QString& b)
{
    if (a == b)
        return 0;
    const auto [inA, inB] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    qsizetype shared = inA - a.begin();
    while (shared > 0 && a[shared - 1] != QLatin1Char(' '))
        --shared;
    return shared;
}

constexpr int kNarrowestTables = 300, kUsualTables = 380;
constexpr QSize kLeastCanvas{300, 440}; ///< causes above, a timeline of each below: in lower windows the page scrolls

} // namespace

ComparePage::ComparePage(Desk& desk, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_desk(desk), m_session(desk.session()), m_baseline(desk.baseline()), m_lineup(desk.lineup()),
      m_view(m_selection, lightTheme()), m_nameA(new ElidedLabel("heading")), m_nameB(new ElidedLabel("heading")),
      m_letterA(new QLabel(QStringLiteral("A"))), m_letterB(new QLabel(QStringLiteral("B"))), m_timeA(new QLabel),
      m_timeB(new QLabel), m_difference(new QLabel), m_ratio(new QLabel), m_problem(new QLabel), m_header(new QFrame),
      m_top(new QGridLayout(m_header)), m_buttons(new QHBoxLayout), m_namesFurther(new QLabel),
      m_splitter(new QSplitter(Qt::Horizontal)), m_tables(new CompareTables), m_canvas(new CanvasWidget(m_view, renderer))
{
    setRole(m_header, "header");
    auto* names = new QGridLayout;
    names->setHorizontalSpacing(10);
    names->setVerticalSpacing(2);
    int row = 0;
    for (const auto& [letter, name, time] : {std::tuple{m_letterA, m_nameA, m_timeA}, {m_letterB, m_nameB, m_timeB}}) {
        setRole(letter, "muted");
        names->addWidget(letter, row, 0);
        names->addWidget(time, row, 1, Qt::AlignRight);
        names->addWidget(name, row, 2);
        ++row;
    }
    setRole(m_namesFurther, "muted");
    m_namesFurther->setTextFormat(Qt::PlainText);
    m_namesFurther->setWordWrap(true);
    m_namesFurther->hide();
    names->setColumnStretch(2, 1);
    setRole(m_difference, "value");
    setRole(m_ratio, "muted");
    auto* change = new QVBoxLayout;
    change->setSpacing(0);
    change->addWidget(m_difference, 0, Qt::AlignRight);
    change->addWidget(m_ratio, 0, Qt::AlignRight);
    m_buttons->setSpacing(4);
    m_top->setContentsMargins(16, 8, 12, 8);
    m_top->setHorizontalSpacing(16);
    m_top->setVerticalSpacing(6);
    m_top->setColumnStretch(0, 1);
    m_top->addLayout(names, 0, 0);
    m_top->addLayout(change, 0, 1);
    m_top->addLayout(m_buttons, 0, 2);
    m_top->addWidget(m_namesFurther, 1, 0, 1, 3);

    setRole(m_problem, "error");
    m_problem->setWordWrap(true);
    m_problem->setContentsMargins(16, 0, 12, 6);
    m_problem->setObjectName(QStringLiteral("compareProblem"));

    constexpr int kUsualCanvas = 1220;
    m_tables->setMinimumWidth(kNarrowestTables);
    m_canvas->setMinimumSize(kLeastCanvas);
    m_canvas->setFocusPolicy(Qt::StrongFocus);
    m_canvas->setAccessibleName(tr("Comparison"));
    m_view.setAskBecause([this](const Becauses& of, Rect at) { openBecause(*m_canvas, of, at); });
    m_splitter->addWidget(m_tables);
    m_splitter->addWidget(m_canvas);
    m_splitter->setHandleWidth(1);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setMinimumWidth(kLeastCanvas.width()); // in a narrower page its parts lie above each other
    m_splitter->setStretchFactor(0, 0);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({kUsualTables, kUsualCanvas});
    connect(m_splitter, &QSplitter::splitterMoved, this, [this] { m_isSplitByHand = true; });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_problem);
    column->addWidget(m_splitter, 1);

    connect(m_tables, &CompareTables::adoptRequested, this, &ComparePage::adopt, Qt::QueuedConnection); // its button goes with it
    connect(m_tables, &CompareTables::becauseRequested, this, &ComparePage::askOfRow);
    connect(m_tables, &CompareTables::stageBecauseRequested, this, &ComparePage::askOfStage);
    connect(&m_baseline, &Baseline::changed, this, &ComparePage::stepChanged);
    connect(&m_lineup, &Lineup::changed, this, &ComparePage::stepChanged);
    connect(&m_desk, &Desk::opened, this, &ComparePage::stepChanged);
    connect(&m_desk, &Desk::stepChanged, this, &ComparePage::stepChanged);
    connect(&m_desk, &Desk::waits, this, [this] {
        if (!m_desk.simulation()) // what it says is why
            stepChanged();
    });
    connect(&m_session, &Session::changed, this, &ComparePage::showProblem);
    connect(&m_session, &Session::fileChanged, this, [this] {
        if (m_session.displayName() != m_currentName) // it says what differs from the file
            stepChanged();
    });
    showProblem();
}

ComparePage::~ComparePage()
{
    m_worker.stop();
    delete m_splitter; // with the canvas, before the view it shows
}

void ComparePage::setActions(const QList<QAction*>& actions)
{
    addActionButtons(*m_buttons, actions);
}

void ComparePage::setTheme(const Theme& theme)
{
    m_view.setTheme(theme);
    m_tables->setTheme(theme);
    stepChanged(); // cells of the tables have colours of their own
}

void ComparePage::setGpuHourPrice(double price)
{
    if (price == m_gpuHourPrice)
        return;
    m_gpuHourPrice = price;
    stepChanged();
}

void ComparePage::swapSides()
{
    m_swapped = !m_swapped;
    refresh();
}

bool ComparePage::runCommand(ViewCommand command, bool fast)
{
    return m_canvas->runCommand(command, fast);
}

/// What nobody sees is made when it is shown.
void ComparePage::stepChanged()
{
    m_isStale = true;
    m_worker.dropAll(); // what is on its way is of sides that are shown no more
    m_awaitsComparison = false;
    if (isVisible())
        refresh();
}

void ComparePage::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (m_isStale)
        refresh();
}

void ComparePage::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    placeButtons();
    placeTables();
}

/// Where names would be cut to a few letters, the buttons stand below them.
void ComparePage::placeButtons()
{
    constexpr int kReadableNames = 420;
    const int beside = m_buttons->sizeHint().width() + m_difference->sizeHint().width() + 3 * m_top->horizontalSpacing();
    const bool below = width() - beside < kReadableNames;
    if (below == m_buttonsBelow)
        return;
    m_buttonsBelow = below;
    m_top->removeItem(m_buttons);
    if (below)
        m_top->addLayout(m_buttons, 2, 0, 1, 3, Qt::AlignLeft);
    else
        m_top->addLayout(m_buttons, 0, 2);
}

/// Where both are too narrow beside each other, the tables lie above the picture.
void ComparePage::placeTables()
{
    constexpr int kLowestTables = 180, kUsuallyHigh = 240;
    const bool above = width() < kNarrowestTables + kLeastCanvas.width() + m_splitter->handleWidth();
    const Qt::Orientation wanted = above ? Qt::Vertical : Qt::Horizontal;
    if (wanted == m_splitter->orientation())
        return;
    if (above)
        m_beside = m_splitter->saveState();
    m_splitter->setOrientation(wanted);
    m_tables->setMinimumHeight(above ? kLowestTables : 0);
    if (above)
        m_splitter->setSizes({kUsuallyHigh, kLeastCanvas.height()});
    else
        m_splitter->restoreState(m_beside); // as wide as somebody made them
}

void ComparePage::refresh()
{
    m_isStale = false;
    m_currentName = m_session.displayName();
    CompareView::Side baseline{.simulation = m_baseline.simulation(),
                               .actions = m_baseline.actions(),
                               .name = m_baseline.name().toStdString(),
                               .message = {}};
    if (m_baseline.isPinned() && !m_baseline.isReady())
        baseline.message = tr("Simulating %1…").arg(m_baseline.name()).toStdString();
    CompareView::Side current{
        .simulation = m_desk.simulation(), .actions = m_desk.actions(), .name = m_currentName.toStdString(), .message = {}};
    if (!current.simulation)
        current.message =
            (m_session.isOpen() ? m_desk.whyNoStep() : tr("Open a scenario, or choose one in the gallery.")).toStdString();
    if (m_swapped)
        std::swap(baseline, current);
    m_worker.dropAll();
    m_awaitsComparison = baseline.simulation || current.simulation;
    if (!m_awaitsComparison)
        return show(std::move(baseline), std::move(current), {});
    std::vector<CompareView::Side> further; // those that are there already
    for (const Lineup::Entry& entry : m_lineup.entries())
        if (entry.step.simulation && baseline.simulation && current.simulation)
            further.push_back({entry.step.simulation, entry.step.trace, entry.name.toStdString(), {}});
    m_worker.ask(
        0,
        [a = ShownStep{baseline.simulation, baseline.actions}, b = ShownStep{current.simulation, current.actions}, further] {
            Made made{.prepared = CompareView::prepare(a, b), .further = {}};
            for (const CompareView::Side& side : further)
                made.further.push_back(CompareView::prepareFurther(a, side));
            return made;
        },
        [this, baseline, current](const Made& made) { show(baseline, current, made); },
        [this, baseline, current](const QString& why) {
            CompareView::Side none = current;
            none.simulation = nullptr;
            none.message = why.toStdString();
            show(baseline, none, {});
        });
}

void ComparePage::show(CompareView::Side a, CompareView::Side b, Made made)
{
    m_awaitsComparison = false;
    m_view.setFurther({}); // they are compared with another A
    m_view.setSides(std::move(a), std::move(b), std::move(made.prepared));
    m_changes.clear();
    if (const auto& comparison = m_view.comparison()) {
        const auto& document = m_baseline.document();
        const auto &pinned = m_baseline.simulation()->scenario(), &now = m_desk.simulation()->scenario();
        m_changes = m_swapped ? scenarioChanges(m_session.document(), now, document, pinned)
                              : scenarioChanges(document, pinned, m_session.document(), now);
        m_view.setFurther(std::move(made.further), m_changes.empty()); // what is the same stands there once
        if (m_view.showsSeveral()) {
            showSeveral();
        } else {
            m_tables->showSeveral({}, {});
            m_tables->showChanges(m_changes, !m_swapped);
            m_tables->showRows(rows());
            m_tables->showStages(comparison->stages);
            giveTables(m_tables->widthOfRows());
        }
    } else {
        m_tables->clear();
    }
    m_tables->setVisible(m_view.comparison().has_value());
    showHeader();
    m_canvas->requestFrame();
    Q_EMIT compared();
}

void ComparePage::showHeader()
{
    const QString pinned = m_baseline.isPinned() ? m_baseline.name() : tr("No baseline yet");
    const QString now = m_session.isOpen() ? m_session.displayName() : tr("No scenario yet");
    const qsizetype shared = sharedBegin(pinned, now);
    m_nameA->setText(m_swapped ? now : pinned, shared);
    m_nameB->setText(m_swapped ? pinned : now, shared);
    m_timeA->setText(timeOf(m_swapped ? m_desk.simulation() : m_baseline.simulation()));
    m_timeB->setText(timeOf(m_swapped ? m_baseline.simulation() : m_desk.simulation()));
    QStringList further;
    for (const CompareView::Further& one : m_view.further())
        further << QStringLiteral("%1\u2002%2\u2002%3")
                       .arg(QChar(u'C' + static_cast<char16_t>(further.size())))
                       .arg(timeOf(one.side.simulation).replace(QLatin1Char(' '), QChar(QChar::Nbsp)),
                            QString::fromStdString(one.side.name));
    if (m_view.isSecondLeftOut())
        further.push_front(tr("B is what A is: it gets its place when something is changed"));
    m_namesFurther->setText(further.join(QStringLiteral("\u00a0\u00a0· ")));
    m_namesFurther->setVisible(m_view.showsSeveral());
    m_letterB->setVisible(!m_view.isSecondLeftOut());
    m_timeB->setVisible(!m_view.isSecondLeftOut());
    m_nameB->setVisible(!m_view.isSecondLeftOut());
    if (m_view.showsSeveral()) {
        for (QLabel* label : {m_difference, m_ratio})
            label->setVisible(true);
        const auto count = m_view.further().size() + (m_view.isSecondLeftOut() ? 1 : 2);
        m_difference->setText(tr("%1 scenarios").arg(count));
        m_ratio->setText(tr("against A, on one axis"));
        return;
    }
    const auto& comparison = m_view.comparison();
    m_difference->setVisible(comparison.has_value());
    m_ratio->setVisible(comparison.has_value());
    if (!comparison)
        return;
    const auto a = static_cast<double>(comparison->stepNs.a), b = static_cast<double>(comparison->stepNs.b);
    m_difference->setText(a == b ? tr("No change") : QString::fromStdString(signedDurationText(b - a)));
    m_ratio->setText(a == b ? tr("in the step time") : tr("%1 step time").arg(QString::fromStdString(ratioText(a, b))));
}

void ComparePage::adopt(int change)
{
    const auto i = static_cast<std::size_t>(change);
    if (i < m_changes.size() && m_baseline.isPinned() && !m_awaitsComparison) // else it is of sides that are shown no more
        m_session.edit(makeAdoptEdit(m_changes, i,
                                     {.from = m_baseline.document(),
                                      .to = m_session.document(),
                                      .catalogue = m_session.catalogue(),
                                      .fromIsA = !m_swapped}));
}

ComparedSteps ComparePage::steps() const
{
    return m_swapped ? ComparedSteps{m_desk.simulation(), m_baseline.simulation()}
                     : ComparedSteps{m_baseline.simulation(), m_desk.simulation()};
}

/// Of the side that was clicked, or of their difference; the others are a click away.
void ComparePage::askOfRow(int row, int column)
{
    if (!m_view.comparison() || m_awaitsComparison || column < 1)
        return;
    const std::vector<ComparisonRow> all = rows();
    const auto index = static_cast<std::size_t>(row);
    if (index < all.size() && all[index].because)
        openOnce(becauseOfBoth(steps(), all[index].because, static_cast<ComparedSide>(column - 1)), m_tables->rows(), row,
                 column);
}

void ComparePage::askOfStage(int row, int column)
{
    using Number = sim::StageNumber;
    static constexpr std::array kColumns{Number::busy, Number::exposed, Number::bubble, Number::memory};
    if (!m_view.comparison() || m_awaitsComparison || column < 1)
        return;
    const auto explain = [row, number = kColumns.at(static_cast<std::size_t>(column - 1))](const sim::Simulation& of) {
        return sim::explain(of, number, row);
    };
    openOnce(becauseOfBoth(steps(), explain, ComparedSide::difference), m_tables->stages(), row, column);
}

void ComparePage::openOnce(const Becauses& because, QTableWidget& table, int row, int column)
{
    const auto open = findChildren<BecausePopup*>(); // of a double click the first one has opened it
    if (std::any_of(open.begin(), open.end(), [](const BecausePopup* each) { return each->isVisible(); }))
        return;
    auto* popup = new BecausePopup(becauseSubjects(because), this);
    popup->openBeside(*table.viewport(), table.visualItemRect(table.item(row, column)));
}

/// What is wrong with the session's scenario: the page then shows what it was before.
void ComparePage::showProblem()
{
    m_problem->setText(firstProblemText(m_session));
    m_problem->setVisible(!m_problem->text().isEmpty());
}

std::vector<ComparisonRow> ComparePage::rows() const
{
    const ComparedSteps two = steps();
    return rowsOf(*m_view.comparison(), *two.a, *two.b);
}

std::vector<ComparisonRow> ComparePage::rowsOf(const sim::Comparison& of, const sim::Simulation& a,
                                               const sim::Simulation& b) const
{
    std::vector<const sim::Simulation*> all{&a, &b}; // a part of A has one name, whatever it is compared with
    if (m_view.showsSeveral())
        for (const CompareView::Further& further : m_view.further())
            all.push_back(further.side.simulation.get());
    if (const ComparedSteps two = steps(); m_view.showsSeveral() && two.b)
        all.push_back(two.b.get());
    sim::Comparison shown = of;
    shown.run = sim::comparedRuns(a, b, sim::comparedTokens(all)); // of as many tokens in every column
    return comparisonRows(shown, sim::dataTransfersOf(all), m_gpuHourPrice);
}

/// All that is compared with A; B is left out where it is A.
std::vector<CompareTables::Column> ComparePage::others() const
{
    std::vector<CompareTables::Column> out;
    if (!m_view.isSecondLeftOut())
        out.push_back({QLatin1Char('B'), m_nameB->text(), rows(), m_changes});
    const ComparedSteps two = steps();
    const sim::ScenarioDocument& documentA = m_swapped ? m_session.document() : m_baseline.document();
    char16_t letter = u'C';
    for (const CompareView::Further& further : m_view.further()) {
        out.push_back({letter++,
                       QString::fromStdString(further.side.name),
                       rowsOf(further.toA, *two.a, *further.side.simulation),
                       {}}); // a column each, also of one that has left the lineup meanwhile
        for (const Lineup::Entry& entry : m_lineup.entries())
            if (entry.step.simulation == further.side.simulation) {
                out.back().changes =
                    scenarioChanges(documentA, two.a->scenario(), entry.document, entry.step.simulation->scenario());
                break;
            }
    }
    return out;
}

/// A column each: numbers beside each other, and the keys that any of them has otherwise than A.
void ComparePage::showSeveral()
{
    m_tables->showSeveral(m_nameA->text(), others());
    giveTables(m_tables->widthOfSeveral());
}

/// So many pixels, as far as that leaves the picture its half, unless somebody has dealt the room.
void ComparePage::giveTables(int wanted)
{
    if (m_splitter->orientation() != Qt::Horizontal || m_isSplitByHand)
        return;
    constexpr double kMostOfPage = 0.5;
    const int all = m_splitter->width() - m_splitter->handleWidth();
    const int tables = std::clamp(wanted, kUsualTables, std::max(kUsualTables, static_cast<int>(kMostOfPage * all)));
    m_splitter->setSizes({tables, all - tables});
}

QString ComparePage::names() const
{
    QStringList out{QStringLiteral("A %1").arg(m_nameA->text())};
    if (!m_view.isSecondLeftOut())
        out << QStringLiteral("B %1").arg(m_nameB->text());
    char16_t letter = u'C';
    for (const CompareView::Further& further : m_view.further())
        out << QStringLiteral("%1 %2").arg(QChar(letter++)).arg(QString::fromStdString(further.side.name));
    return out.join(QStringLiteral("  ·  "));
}

QString ComparePage::headline() const
{
    const auto& comparison = m_view.comparison();
    if (!comparison)
        return {};
    const bool isSame = !m_view.showsSeveral() && comparison->stepNs.a == comparison->stepNs.b; // one sentence
    return m_difference->text() + (isSame ? QStringLiteral(" ") : QStringLiteral(", ")) + m_ratio->text();
}

QString ComparePage::csv() const
{
    if (m_awaitsComparison || m_isStale)
        return {};
    if (!m_view.comparison())
        return {};
    if (!m_view.showsSeveral())
        return comparisonCsv(rows(), m_changes);
    QStringList names{m_nameA->text()};
    QString letters = QStringLiteral("A");
    std::vector<std::vector<ComparisonRow>> toA;
    for (const CompareTables::Column& other : others()) {
        names << other.name;
        letters += other.letter;
        toA.push_back(other.toA);
    }
    return severalCsv(names, toA, letters);
}

} // namespace app
