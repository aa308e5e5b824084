#include "app/shell/plan/plan_panel.h"

#include "app/shell/plan/searched_keys.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/text/number_text.h"

#include <QButtonGroup>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr int kSoonAfterGpusMs = 250;
constexpr int kNarrowestObjective = 96, kNarrowestPlan = 200, kLowestPlan = 140; ///< from there on it scrolls
constexpr int kRoomForSlider = 640, kRoomBeside = 560, kRoomForSizes = 340, kSizesHeight = 62, kRoomForWords = 640;

QToolButton* segment(const QString& text, const char* role)
{
    auto* button = new QToolButton;
    button->setText(text);
    button->setCheckable(true);
    setRole(button, role);
    return button;
}

} // namespace

QPoint menuPlace(const QRect& button, QSize menu, const QRect& screen)
{
    const int roomRight = std::max(screen.left(), screen.right() + 1 - menu.width());
    const int x = std::clamp(button.left(), screen.left(), roomRight);
    if (button.bottom() + 1 + menu.height() <= screen.bottom() + 1)
        return {x, button.bottom() + 1};
    if (button.top() - menu.height() >= screen.top())
        return {x, button.top() - menu.height()};
    // Neither below nor above: beside it.
    const int y = std::clamp(button.top(), screen.top(), std::max(screen.top(), screen.bottom() + 1 - menu.height()));
    const bool isRoomOnTheRight = button.right() + 1 + menu.width() <= screen.right() + 1;
    const int beside = isRoomOnTheRight ? button.right() + 1 : button.left() - menu.width();
    return {std::clamp(beside, screen.left(), roomRight), y};
}

std::vector<int> planGpuStops(int gpusPerNode, int present)
{
    std::vector<int> stops;
    for (int gpus = 1; gpus < gpusPerNode; gpus *= 2)
        stops.push_back(gpus);
    const std::int64_t most = std::max<std::int64_t>(std::int64_t{4} * present, std::int64_t{8} * gpusPerNode);
    for (std::int64_t gpus = std::max(1, gpusPerNode); gpus <= most && gpus <= kMostPlannedByHand; gpus *= 2)
        stops.push_back(static_cast<int>(gpus));
    stops.push_back(present);
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    return stops;
}

PlanPanel::PlanPanel(Desk& desk, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_desk(desk), m_theme(&lightTheme()), m_choice(std::make_shared<std::optional<PlanChoice>>()),
      m_picture(std::make_shared<const PlanPicture>()), m_map(m_choice, lightTheme()), m_best(m_choice, lightTheme()),
      m_scatter(m_choice, lightTheme()), m_guideView(lightTheme()), m_robustView(lightTheme()), m_sizesView(lightTheme()),
      m_costView(lightTheme()), m_objective(new QComboBox), m_gpuSlider(new QSlider(Qt::Horizontal)), m_gpus(new QSpinBox),
      m_options(new QToolButton), m_optionsMenu(new QMenu(this)), m_start(new QPushButton(tr("Plan"))),
      m_progress(new QProgressBar), m_proof(new QLabel), m_detail(new QLabel), m_split(new QSplitter),
      m_mapCanvas(new CanvasWidget(m_map, renderer)), m_bestCanvas(new CanvasWidget(m_best, renderer)),
      m_scatterCanvas(new CanvasWidget(m_scatter, renderer)), m_guideCanvas(new CanvasWidget(m_guideView, renderer)),
      m_robustCanvas(new CanvasWidget(m_robustView, renderer)), m_sizesCanvas(new CanvasWidget(m_sizesView, renderer)),
      m_costCanvas(new CanvasWidget(m_costView, renderer)), m_side(new QStackedWidget), m_sideButtons(new QButtonGroup(this)),
      m_open(new QPushButton(tr("Open"))), m_compare(new QPushButton(tr("Compare with Mine"))), m_copy(new QToolButton),
      m_area(new QScrollArea(this)), m_search(desk.session().catalogue())
{
    setRole(this, "form");
    setAttribute(Qt::WA_StyledBackground);
    setObjectName(QStringLiteral("planPanel"));
    setAccessibleName(tr("Plan"));
    setFocusProxy(m_start);

    for (const auto& [objective, text] : {std::pair{sim::PlanObjective::time, tr("Shortest step")},
                                          {sim::PlanObjective::tokens, tr("Most tokens a day")},
                                          {sim::PlanObjective::headroom, tr("Least memory")},
                                          {sim::PlanObjective::gpuHours, tr("Fewest GPU hours")},
                                          {sim::PlanObjective::cost, tr("Lowest cost")}})
        m_objective->addItem(text, static_cast<int>(objective));
    m_objective->setAccessibleName(tr("What is best"));
    m_objective->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_objective->setToolTip(tr("What the best layout has least of"));
    m_gpus->setRange(1, kMostPlannedByHand);
    m_gpus->setAccessibleName(tr("GPUs to plan for"));
    m_gpus->setToolTip(tr("So many ranks; nodes follow"));
    m_gpus->setKeyboardTracking(false);
    m_gpus->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_gpuSlider->setAccessibleName(tr("GPUs to plan for, in steps"));
    m_gpuSlider->setMinimumWidth(90);
    m_options->setText(tr("All may change"));
    m_options->setAccessibleName(tr("What is held, and limits"));
    m_options->setToolTip(
        tr("Settings that stay as they are, what else is searched, whose framework, memory left free, a batch that grows"));
    m_options->setMenu(m_optionsMenu); // said to screen readers; it is opened where it has room (menuPlace)
    m_options->setPopupMode(QToolButton::InstantPopup);
    m_options->setFocusPolicy(Qt::StrongFocus);
    m_options->installEventFilter(this);
    setRole(m_options, "button");
    setRole(m_start, "primary");
    m_start->setObjectName(QStringLiteral("startPlan"));
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(4);
    m_progress->setAccessibleName(tr("How far the search is"));
    for (QLabel* label : {m_proof, m_detail}) {
        setRole(label, "small");
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        label->setTextFormat(Qt::PlainText);
    }
    m_proof->setAccessibleName(tr("What was searched and proved"));
    m_detail->setAccessibleName(tr("The chosen layout"));

    for (const auto& [canvas, name] : {std::pair{m_mapCanvas, tr("Plan: tensor by pipeline parallelism")},
                                       {m_bestCanvas, tr("The best layouts, by what their steps go to")},
                                       {m_scatterCanvas, tr("Step time against memory")},
                                       {m_costCanvas, tr("Days of the run against what it costs")},
                                       {m_guideCanvas, tr("Guide: the path to a layout")},
                                       {m_robustCanvas, tr("The layouts near the first where not all goes as planned")},
                                       {m_sizesCanvas, tr("The best by the number of GPUs")}}) {
        canvas->setFocusPolicy(Qt::StrongFocus);
        canvas->setAccessibleName(name);
        canvas->setMinimumSize(160, 110);
        canvas->installEventFilter(this);
    }
    for (PlanView* view : std::initializer_list<PlanView*>{&m_map, &m_best, &m_scatter}) {
        view->setChosen([this] { choiceChanged(); });
        view->setOpened([this] { openChosen(); });
    }
    m_sizesCanvas->setMinimumHeight(kSizesHeight);
    m_sizesCanvas->setMaximumHeight(kSizesHeight);
    m_sizesView.setChosen([this](int gpus) { setGpus(gpus); });
    m_costView.setChosen([this](int gpus) { setGpus(gpus); });
    auto* pages = new QHBoxLayout; // of layouts; those that walk and try are below where there is no room beside
    auto* furtherPages = new QHBoxLayout;
    constexpr int kPagesOfLayouts = 3;
    m_segments = new QBoxLayout(QBoxLayout::LeftToRight);
    for (QBoxLayout* layout : std::initializer_list<QBoxLayout*>{m_segments, pages, furtherPages})
        layout->setSpacing(0);
    int place = 0;
    for (QToolButton* button : {segment(tr("Best"), "segmentLeft"), segment(tr("Time and memory"), "segmentRight"),
                                segment(tr("Days and cost"), "segmentRight"), segment(tr("Guide"), "segmentRight"),
                                segment(tr("Robust"), "segmentRight")}) {
        (place < kPagesOfLayouts ? pages : furtherPages)->addWidget(button);
        m_sideButtons->addButton(button, place++);
    }
    furtherPages->addStretch(1);
    m_segments->addLayout(pages);
    m_segments->addLayout(furtherPages, 1);
    m_sideButtons->button(0)->setChecked(true);
    m_sideButtons->button(1)->setAccessibleName(tr("Time and memory"));
    m_sideButtons->button(2)->setAccessibleName(tr("Days and cost"));
    m_side->addWidget(m_bestCanvas);
    m_side->addWidget(m_scatterCanvas);
    m_side->addWidget(m_costCanvas);
    m_side->addWidget(m_guideCanvas);
    m_side->addWidget(m_robustCanvas);
    connect(m_sideButtons, &QButtonGroup::idClicked, this, &PlanPanel::showPartAt);
    m_guideView.setChosen([this](const sim::PlannedLayout& layout, bool isPath) { chooseOfGuide(layout, isPath); });
    m_robustView.setChosen([this](const sim::PlannedLayout& layout) { chooseOfRobust(layout); });
    auto* beside = new QWidget;
    auto* sideColumn = new QVBoxLayout(beside);
    sideColumn->setContentsMargins(0, 0, 0, 0);
    sideColumn->setSpacing(4);
    sideColumn->addLayout(m_segments);
    sideColumn->addWidget(m_side, 1);
    m_split->addWidget(m_mapCanvas);
    m_split->addWidget(beside);
    m_split->setChildrenCollapsible(false);
    m_split->setStretchFactor(0, 5);
    m_split->setStretchFactor(1, 6);

    m_open->setObjectName(QStringLiteral("openPlan"));
    m_open->setToolTip(tr("Makes the chosen layout the scenario, as one step that can be undone"));
    m_compare->setObjectName(QStringLiteral("comparePlan"));
    m_compare->setToolTip(tr("Lays it beside the scenario as it is, on one time axis"));
    m_copy->setText(tr("Copy Table"));
    m_copy->setToolTip(tr("Every cell of the map with its numbers and its reason, as spreadsheets take them"));
    setRole(m_copy, "button");

    auto* page = new QWidget;
    auto* forWhat = new QHBoxLayout;
    forWhat->setSpacing(8);
    forWhat->addWidget(m_objective);
    auto* gpusLabel = new QLabel(tr("on"));
    setRole(gpusLabel, "muted12");
    forWhat->addWidget(gpusLabel);
    forWhat->addWidget(m_gpuSlider, 1);
    m_gpus->setSuffix(tr(" GPUs"));
    forWhat->addWidget(m_gpus);
    auto* limits = new QHBoxLayout;
    limits->setSpacing(8);
    limits->addWidget(m_options);
    limits->addStretch(1);
    limits->addWidget(m_start);
    m_head = new QBoxLayout(QBoxLayout::LeftToRight);
    m_head->setSpacing(8);
    m_head->addLayout(forWhat, 1);
    m_head->addLayout(limits, 1);
    auto* buttons = new QHBoxLayout; // below what scrolls: what a layout is chosen for is always in reach
    buttons->setContentsMargins(12, 4, 12, 8);
    buttons->setSpacing(8);
    buttons->addWidget(m_copy);
    buttons->addStretch(1);
    buttons->addWidget(m_compare);
    buttons->addWidget(m_open);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(12, 6, 12, 4);
    column->setSpacing(4);
    column->addLayout(m_head);
    column->addWidget(m_sizesCanvas);
    column->addWidget(m_progress);
    column->addWidget(m_proof);
    column->addWidget(m_split, 1);
    column->addWidget(m_detail);
    m_area->setWidget(page);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setFocusPolicy(Qt::NoFocus);
    setRole(m_area, "clear");
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->setSpacing(0);
    whole->addWidget(m_area);
    whole->addLayout(buttons);
    setMinimumSize(kNarrowestPlan, kLowestPlan);

    m_soon.setSingleShot(true);
    m_soon.setInterval(kSoonAfterGpusMs);
    connect(&m_soon, &QTimer::timeout, this, &PlanPanel::start);
    m_guideSoon.setSingleShot(true);
    m_guideSoon.setInterval(kSoonAfterGpusMs);
    connect(&m_guideSoon, &QTimer::timeout, this, [this] {
        if (isGuideInFront() && !m_guide && !m_search.isAskingGuide())
            askGuide();
        refreshFrames();
    });
    connect(m_start, &QPushButton::clicked, this,
            [this] { isSearching() || m_search.cellsToFill() + m_search.sizesToFill() > 0 ? stop() : start(); });
    connect(m_objective, &QComboBox::currentIndexChanged, this, &PlanPanel::askedForOther);
    connect(m_gpuSlider, &QSlider::valueChanged, this, [this](int stop) {
        const std::vector<int> stops = gpuStops();
        if (stop >= 0 && stop < static_cast<int>(stops.size()))
            m_gpus->setValue(stops[static_cast<std::size_t>(stop)]);
    });
    connect(m_gpus, &QSpinBox::valueChanged, this, [this] {
        refreshControls();
        if (m_hasPlanned) {
            refill();
            return;
        }
        forgetGuide();
        refreshDetail();
        refreshFrames();
    });
    connect(m_options, &QToolButton::clicked, this, &PlanPanel::showOptions);
    connect(m_open, &QPushButton::clicked, this, &PlanPanel::openChosen);
    connect(m_compare, &QPushButton::clicked, this, &PlanPanel::compareChosen);
    connect(m_copy, &QToolButton::clicked, this, &PlanPanel::copyTable);
    connect(&m_search, &PlanSearch::progressed, this, &PlanPanel::show);
    connect(&m_search, &PlanSearch::finished, this, &PlanPanel::show);
    connect(&m_search, &PlanSearch::failed, this, &PlanPanel::showFailure);
    connect(&m_search, &PlanSearch::cellFound, this, &PlanPanel::cellFound);
    connect(&m_search, &PlanSearch::cellsFilled, this, [this] {
        refreshControls();
        refreshDetail();
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::sizeFound, this, [this](const PlanState& state) {
        m_byGpus.insert_or_assign(state.answer->gpus, state);
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::sizesFilled, this, [this] {
        refreshControls();
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::cellFailed, this, [this](const QString& why) {
        m_cellFailure = why; // of the cell that is chosen; the proof stands
        refreshControls();
        refreshDetail();
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::guideFound, this, [this](const std::shared_ptr<const sim::PlanGuide>& guide) {
        m_guide = guide;
        showGuide();
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::guideFailed, this, [this](const QString& why) {
        m_guideView.setHint(tr("There is no guide").toStdString(), why.toStdString());
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::robustFound, this, [this](const std::shared_ptr<const sim::RobustChoice>& choice) {
        m_robust = choice;
        m_robustView.set(m_robust);
        refreshFrames();
    });
    connect(&m_search, &PlanSearch::robustFailed, this, [this](const QString& why) {
        m_robustView.setHint(tr("There is no comparison").toStdString(), why.toStdString());
        refreshFrames();
    });
    connect(&m_desk.session(), &Session::opened, this, &PlanPanel::forget);
    connect(&m_desk.session(), &Session::changed, this, &PlanPanel::scenarioChanged);
    connect(&m_desk, &Desk::stepChanged, this, [this] {
        showMine();
        refreshFrames();
    });
    forget();
}

PlanPanel::~PlanPanel()
{
    m_search.disconnect(this);
    m_desk.disconnect(this);
    m_desk.session().disconnect(this);
}

void PlanPanel::setTheme(const Theme& theme)
{
    m_theme = &theme;
    for (PlanView* view : std::initializer_list<PlanView*>{&m_map, &m_best, &m_scatter})
        view->setTheme(theme);
    m_guideView.setTheme(theme);
    m_robustView.setTheme(theme);
    m_sizesView.setTheme(theme);
    m_costView.setTheme(theme);
    refreshFrames();
}

void PlanPanel::setPrice(double price)
{
    m_price = price;
    showMine();
    refreshDetail();
    refreshFrames();
}

void PlanPanel::setObjective(sim::PlanObjective objective)
{
    m_objective->setCurrentIndex(m_objective->findData(static_cast<int>(objective)));
}

void PlanPanel::setGpus(int gpus)
{
    m_gpus->setValue(gpus);
}

void PlanPanel::setHeld(const std::string& pointer, bool held)
{
    if (held ? m_held.insert(pointer).second : m_held.erase(pointer) > 0)
        askedForOther();
}

CanvasWidget& PlanPanel::canvas(PlanPart part) const
{
    switch (part) {
    case PlanPart::map:
        return *m_mapCanvas;
    case PlanPart::best:
        return *m_bestCanvas;
    case PlanPart::scatter:
        return *m_scatterCanvas;
    case PlanPart::sizes:
        return *m_sizesCanvas;
    case PlanPart::cost:
        return *m_costCanvas;
    case PlanPart::robust:
        return *m_robustCanvas;
    case PlanPart::guide:
        break;
    }
    return *m_guideCanvas;
}

void PlanPanel::showPart(PlanPart part)
{
    if (const int place = m_side->indexOf(&canvas(part)); place >= 0)
        m_sideButtons->button(place)->click();
}

QString PlanPanel::proofText() const
{
    return m_proof->text();
}

QString PlanPanel::detailText() const
{
    return m_detail->text();
}

bool PlanPanel::hasCanvasFocus() const
{
    return m_mapCanvas->hasFocus() || m_bestCanvas->hasFocus() || m_scatterCanvas->hasFocus() || m_guideCanvas->hasFocus() ||
           m_robustCanvas->hasFocus() || m_sizesCanvas->hasFocus() || m_costCanvas->hasFocus();
}

void PlanPanel::runCommand(ViewCommand command, bool fast)
{
    for (CanvasWidget* canvas :
         {m_mapCanvas, m_bestCanvas, m_scatterCanvas, m_guideCanvas, m_robustCanvas, m_sizesCanvas, m_costCanvas})
        if (canvas->hasFocus())
            canvas->runCommand(command, fast);
}

/// Return opens what is chosen in a picture; the menu of what is held opens where it has room.
bool PlanPanel::eventFilter(QObject* of, QEvent* event)
{
    if (of == m_options) {
        const bool isPress = (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonDblClick) &&
                             static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
        const bool isKey = event->type() == QEvent::KeyPress && (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space ||
                                                                 static_cast<QKeyEvent*>(event)->key() == Qt::Key_Return ||
                                                                 static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down);
        if (isPress || isKey)
            showOptions();
        return isPress || isKey || QWidget::eventFilter(of, event);
    }
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if ((key == Qt::Key_Return || key == Qt::Key_Enter) && canOpen()) {
            openChosen();
            return true;
        }
    }
    return QWidget::eventFilter(of, event);
}

void PlanPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    wantGuideSoon();
}

/// Pictures below each other in a narrow panel.
void PlanPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_gpuSlider->setVisible(width() >= kRoomForSlider);
    fold();
    refreshSizes();
    m_sideButtons->button(1)->setText(width() >= kRoomForWords ? tr("Time and memory") : tr("Time"));
    m_sideButtons->button(2)->setText(width() >= kRoomForWords ? tr("Days and cost") : tr("Cost"));
    const Qt::Orientation wanted = width() >= kRoomBeside ? Qt::Horizontal : Qt::Vertical;
    if (m_split->orientation() != wanted)
        m_split->setOrientation(wanted);
}

/// Controls below each other where they have no room beside each other.
void PlanPanel::fold()
{
    constexpr int kSides = 24, kScrollBar = 12;
    const int room = width() - kSides - kScrollBar;
    const auto needs = [](const QBoxLayout& line) {
        return line.itemAt(0)->minimumSize().width() + line.spacing() + line.itemAt(1)->minimumSize().width();
    };
    m_compare->setText(width() < kRoomForSlider ? tr("Compare") : tr("Compare with Mine"));
    m_compare->setAccessibleName(tr("Compare with Mine"));
    m_objective->setMinimumWidth(width() < kRoomForSizes ? kNarrowestObjective : m_objective->sizeHint().width());
    m_copy->setText(width() < kRoomBeside ? tr("Copy") : tr("Copy Table"));
    m_copy->setAccessibleName(tr("Copy Table"));
    m_segments->setDirection(width() < kRoomForSizes ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_head->setDirection(needs(*m_head) > room ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void PlanPanel::refreshControls()
{
    const bool running = m_search.isRunning();
    const int cellsToFill = m_search.cellsToFill(), sizesToFill = m_search.sizesToFill(), toFill = cellsToFill + sizesToFill;
    m_start->setAccessibleName(running || toFill > 0 ? tr("Stop the search") : tr("Search for the best layout"));
    m_start->setText(running || toFill > 0 ? tr("Stop") : tr("Plan"));
    m_start->setEnabled(m_desk.session().isOpen());
    m_start->setToolTip(
        running ? tr("Ends the search and keeps what it found")
                : tr("Searches every legal layout of these GPUs; at most %1 s").arg(static_cast<int>(PlanSearch::kMostSeconds)));
    const std::vector<int> stops = gpuStops();
    {
        const QSignalBlocker quiet(m_gpuSlider);
        m_gpuSlider->setRange(0, static_cast<int>(stops.size()) - 1);
        const auto nearest = std::min_element(stops.begin(), stops.end(), [&](int a, int b) {
            const auto away = [&](int stop) { return std::abs(std::log2(stop) - std::log2(m_gpus->value())); };
            return away(a) < away(b);
        });
        m_gpuSlider->setValue(static_cast<int>(nearest - stops.begin()));
    }
    m_options->setText(optionsText());
    m_options->setAccessibleDescription(m_options->text());
    if (m_head)
        fold(); // it may be longer now
    m_gpus->setSuffix(m_gpus->value() == 1 ? tr(" GPU") : tr(" GPUs"));
    m_progress->setVisible(running);
    if (running && m_state && m_state->isRunning) {
        const sim::PlanProgress& now = m_state->progress;
        // Grids judged, then the floor as it rises to the best step.
        const double least = std::max(now.floorSeconds, 0.0);
        const double share = now.gridsDone < now.grids ? 0.3 * static_cast<double>(now.gridsDone) / static_cast<double>(now.grids)
                             : now.bestSeconds > 0 && least > 0 ? 0.3 + 0.7 * std::min(1.0, least / now.bestSeconds)
                                                                : 0.3;
        m_progress->setRange(0, 1000);
        m_progress->setValue(static_cast<int>(share * 1000));
    } else if (running) {
        m_progress->setRange(0, 0);
    }
    QString proof;
    if (!m_failure.isEmpty() && !running)
        proof = m_failure;
    else if (running && (!m_state || !m_state->isRunning))
        proof = tr("Judging every grid of %1…").arg(QString::fromStdString(sim::countedText(m_gpus->value(), "GPU")));
    else if (m_state)
        proof = QString::fromStdString(m_state->proof).replace(QLatin1Char('\n'), QStringLiteral(". "));
    if (running && m_state && m_state->isRunning)
        proof = tr("Searching: %1").arg(proof);
    else if (cellsToFill > 0)
        proof = tr("%1. Filling the map: %2 to come").arg(proof, QString::fromStdString(sim::countedText(cellsToFill, "cell")));
    else if (sizesToFill > 0)
        proof = tr("%1. Planning for other numbers of GPUs: %2 to come").arg(proof).arg(sizesToFill);
    else if (const int left = cellsLeft(); left > 0 && !running)
        proof = tr("%1. The filling of the map has ended before %2: choose one to search it")
                    .arg(proof, QString::fromStdString(sim::countedText(left, "cell")));
    if (m_state && !running && m_hasPlanned && searchedText() != m_plannedOf)
        proof = tr("The scenario has changed since: plan anew. Before: %1").arg(proof);
    m_proof->setText(proof);
    m_proof->setAccessibleDescription(proof);
    m_proof->setVisible(!proof.isEmpty());
    setRole(m_proof, !m_failure.isEmpty() && !running ? "error" : "small");
    m_copy->setEnabled(!m_picture->isEmpty());
}

void PlanPanel::refreshDetail()
{
    QString text;
    if (*m_choice) {
        const PlanChoice& choice = **m_choice;
        const PlanCell* cell = m_picture->cell(choice.tp, choice.pp);
        if (choice.layout) {
            const sim::PlannedLayout& layout = *choice.layout;
            const bool byDay = m_state && m_state->request.objective == sim::PlanObjective::tokens;
            text = tr("%1: %2. %3 GiB at the peak, %4 left; %5")
                       .arg(QString::fromStdString(layoutText(layout)), QString::fromStdString(m_picture->differenceText(layout)))
                       .arg(layout.peakMemoryGib, 0, 'f', 1)
                       .arg(layout.headroomGib, 0, 'f', 1)
                       .arg(byDay ? tr("%1 tokens a day").arg(QString::fromStdString(tokensText(tokensADay(layout))))
                                  : tr("%1 tokens/s").arg(separated(std::llround(layout.tokensPerSecond))));
            if (const std::string cost = m_picture->costText(layout); !cost.empty())
                text += QStringLiteral("; ") + QString::fromStdString(cost);
            if (m_choosesPath)
                text = tr("Where the path leads. %1").arg(text);
            if (const std::string tight = m_picture->tightText(layout); !tight.empty())
                text += tr(". Tight: %1; what the model does not know may not fit (Memory Left Free keeps some)")
                            .arg(QString::fromStdString(tight));
            if (layout.tieWithFirst)
                text += tr(". A tie: the model cannot tell it from the first");
        } else if (cell) {
            text = QString::fromStdString(cellText(*m_picture, *cell));
            if (m_search.isAskingCell())
                text += tr(". Searching for the best of it…");
            else if (!m_cellFailure.isEmpty())
                text += tr(". It cannot be searched: %1").arg(m_cellFailure);
        }
    }
    m_detail->setText(text);
    m_detail->setAccessibleDescription(text);
    m_detail->setToolTip(text);
    const bool can = canOpen();
    m_open->setEnabled(can);
    m_compare->setEnabled(can);
}

std::vector<int> PlanPanel::gpuStops() const
{
    const sim::Scenario* scenario = m_desk.session().scenario();
    return planGpuStops(scenario ? scenario->cluster.gpusPerNode : 8, presentGpus());
}

/// Sizes that were searched since the question was another, and those of the slider.
void PlanPanel::refreshSizes()
{
    const bool isOfNow = m_hasPlanned && searchedText() == m_plannedOf;
    m_sizesCanvas->setVisible(isOfNow && !m_byGpus.empty() && height() >= kRoomForSizes);
    if (!isOfNow)
        return;
    std::vector<int> stops = gpuStops();
    stops.push_back(m_gpus->value());
    for (const auto& [gpus, state] : m_byGpus)
        stops.push_back(gpus);
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    std::vector<PlanSize> sizes;
    for (const int gpus : stops) {
        PlanSize size{.gpus = gpus, .isShown = gpus == m_gpus->value(), .best = std::nullopt};
        if (const auto known = m_byGpus.find(gpus); known != m_byGpus.end()) {
            const sim::PlanAnswer& answer = *known->second.answer;
            size.isSearched = true;
            size.isProved = answer.proved;
            if (!answer.best.empty())
                size.best = answer.best.front();
        }
        sizes.push_back(std::move(size));
    }
    m_costView.set(sizes, m_price);
    m_sizesView.set(std::move(sizes));
}

void PlanPanel::refreshFrames()
{
    refreshSizes();
    if (isReady())
        Q_EMIT ready();
    for (CanvasWidget* canvas :
         {m_mapCanvas, m_bestCanvas, m_scatterCanvas, m_guideCanvas, m_robustCanvas, m_sizesCanvas, m_costCanvas})
        canvas->requestFrame();
}

void PlanPanel::copyTable()
{
    QGuiApplication::clipboard()->setText(QString::fromStdString(tabbedText(planTable(*m_picture))));
}

} // namespace app
