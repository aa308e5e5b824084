// What the panel is put together from.
#include "app/shell/plan/plan_panel.h"

#include "app/shell/plan/run_length_ask.h"
#include "app/shell/plan/searched_keys.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/groove_slider.h"
#include "app/shell/widgets/style.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace app {
namespace {

constexpr int kSoonAfterGpusMs = 250;
constexpr int kNarrowestPlan = 200, kLowestPlan = 140; ///< from there on it scrolls
constexpr int kSizesHeight = 62;

QToolButton* segment(const QString& text, const char* role)
{
    auto* button = new QToolButton;
    button->setText(text);
    button->setCheckable(true);
    setRole(button, role);
    return button;
}

} // namespace

PlanPanel::PlanPanel(Desk& desk, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_desk(desk), m_theme(&lightTheme()), m_choice(std::make_shared<std::optional<PlanChoice>>()),
      m_picture(std::make_shared<const PlanPicture>()), m_map(m_choice, lightTheme()), m_best(m_choice, lightTheme()),
      m_scatter(m_choice, lightTheme()), m_guideView(lightTheme()), m_robustView(lightTheme()), m_sizesView(lightTheme()),
      m_costView(lightTheme()), m_objective(new ChoiceBox), m_gpuSlider(new GrooveSlider(Qt::Horizontal)), m_gpus(new QSpinBox),
      m_options(new QToolButton), m_optionsMenu(new QMenu(this)), m_start(new QPushButton(tr("Plan"))),
      m_progress(new QProgressBar), m_proof(new QLabel), m_detail(new QLabel), m_split(new QSplitter),
      m_mapCanvas(new CanvasWidget(m_map, renderer)), m_bestCanvas(new CanvasWidget(m_best, renderer)),
      m_scatterCanvas(new CanvasWidget(m_scatter, renderer)), m_guideCanvas(new CanvasWidget(m_guideView, renderer)),
      m_robustCanvas(new CanvasWidget(m_robustView, renderer)), m_sizesCanvas(new CanvasWidget(m_sizesView, renderer)),
      m_costCanvas(new CanvasWidget(m_costView, renderer)), m_runLength(new RunLengthAsk), m_costPage(new QStackedWidget),
      m_side(new QStackedWidget), m_sideButtons(new QButtonGroup(this)), m_open(new QPushButton(tr("Open"))),
      m_compare(new QPushButton(tr("Compare with Mine"))), m_copy(new QToolButton), m_area(new QScrollArea(this)),
      m_search(desk.session().catalogue())
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
    m_objective->setToolTip(tr("What the best layout is best in"));
    m_gpus->setRange(1, kMostPlannedByHand);
    m_gpus->setAccessibleName(tr("GPUs to plan for"));
    m_gpus->setToolTip(tr("So many ranks; nodes follow"));
    m_gpus->setKeyboardTracking(false);
    m_gpus->setLocale(QLocale(QLocale::English, QLocale::UnitedStates)); // as all other numbers are written
    m_gpus->setGroupSeparatorShown(true);
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
        canvas->setMinimumSize(kNarrowestPicture, kLowestPicture);
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
    pages->addStretch();
    furtherPages->addStretch(1);
    m_segments->addLayout(pages);
    m_segments->addLayout(furtherPages, 1);
    m_sideButtons->button(0)->setChecked(true);
    m_sideButtons->button(1)->setAccessibleName(tr("Time and memory"));
    m_sideButtons->button(2)->setAccessibleName(tr("Days and cost"));
    m_side->addWidget(m_bestCanvas);
    m_side->addWidget(m_scatterCanvas);
    m_costPage->addWidget(m_costCanvas);
    m_costPage->addWidget(m_runLength);
    m_side->addWidget(m_costPage);
    m_side->addWidget(m_guideCanvas);
    m_side->addWidget(m_robustCanvas);
    connect(m_runLength, &RunLengthAsk::said, this, &PlanPanel::setTokens);
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
    m_forWhat = new QHBoxLayout;
    m_forWhat->setSpacing(8);
    m_forWhat->addWidget(m_objective);
    auto* gpusLabel = new QLabel(tr("on"));
    setRole(gpusLabel, "muted12");
    m_forWhat->addWidget(gpusLabel);
    m_forWhat->addStretch(0);
    m_forWhat->addWidget(m_gpuSlider, 1);
    m_gpus->setSuffix(tr(" GPUs"));
    m_forWhat->addWidget(m_gpus);
    m_sliderLine = new QHBoxLayout;
    auto* limits = new QHBoxLayout;
    limits->setSpacing(8);
    limits->addWidget(m_options);
    limits->addStretch(1);
    limits->addWidget(m_start);
    m_head = new QBoxLayout(QBoxLayout::LeftToRight);
    m_head->setSpacing(8);
    m_head->addLayout(m_forWhat, 1);
    m_head->addLayout(limits, 1);
    m_reason = new QHBoxLayout; // below what scrolls: why a layout is chosen or not, and what it is chosen for, are in reach
    m_reason->setContentsMargins(12, 4, 12, 0);
    m_reason->addWidget(m_detail);
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(12, 4, 12, 8);
    buttons->setSpacing(8);
    buttons->addWidget(m_copy);
    buttons->addStretch(1);
    buttons->addWidget(m_compare);
    buttons->addWidget(m_open);
    auto* column = m_page = new QVBoxLayout(page);
    column->setContentsMargins(12, 6, 12, 4);
    column->setSpacing(4);
    column->addLayout(m_head);
    column->addLayout(m_sliderLine);
    column->addWidget(m_sizesCanvas);
    column->addWidget(m_progress);
    column->addWidget(m_proof);
    column->addWidget(m_split, 1);
    m_area->setWidget(page);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setFocusPolicy(Qt::NoFocus);
    setRole(m_area, "clear");
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->setSpacing(0);
    whole->addWidget(m_area);
    whole->addLayout(m_reason);
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
    for (const auto told : {&PlanSearch::cellImproved, &PlanSearch::cellFound})
        connect(&m_search, told, this, &PlanPanel::cellFound);
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

} // namespace app
