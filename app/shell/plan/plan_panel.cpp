#include "app/shell/plan/plan_panel.h"

#include "app/shell/plan/searched_keys.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/text/number_text.h"

#include <QBoxLayout>
#include <QButtonGroup>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QProgressBar>
#include <QPushButton>
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

constexpr int kNarrowestObjective = 96;
constexpr int kRoomForSlider = 640, kRoomBeside = 560, kRoomForSizes = 340, kRoomForWords = 690;

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
    QWidget* page = part == PlanPart::cost ? m_costPage : static_cast<QWidget*>(&canvas(part));
    if (const int place = m_side->indexOf(page); place >= 0)
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
    placeSlider();
    placeWords();
    fold();
    refreshSizes();
    fitPictures();
}

/// In a line of its own where it has no room among the others.
void PlanPanel::placeSlider()
{
    const bool isBeside = m_forWhat->indexOf(m_gpuSlider) >= 0, wantsBeside = width() >= kRoomForSlider;
    if (isBeside == wantsBeside)
        return;
    (isBeside ? m_forWhat : m_sliderLine)->removeWidget(m_gpuSlider);
    if (wantsBeside)
        m_forWhat->insertWidget(m_forWhat->indexOf(m_gpus), m_gpuSlider, 1);
    else
        m_sliderLine->addWidget(m_gpuSlider);
}

/// In a low panel words would cover the map: they stand below it, and are scrolled to; its cells' tips say the same.
void PlanPanel::placeWords()
{
    constexpr int kLow = 340;
    const bool isLow = height() < kLow;
    if (m_page == nullptr || std::exchange(m_isLow, isLow) == isLow)
        return;
    m_page->removeWidget(m_proof);
    if (isLow) {
        m_reason->removeWidget(m_detail);
        m_page->addWidget(m_detail);
        m_page->addWidget(m_proof);
    } else {
        m_page->removeWidget(m_detail);
        m_reason->addWidget(m_detail);
        m_page->insertWidget(m_page->indexOf(m_split), m_proof);
    }
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
    const bool segmentsFit = width() >= kRoomBeside || needs(*m_segments) <= room;
    m_segments->setDirection(segmentsFit ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
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
    const bool fills = !running && toFill > 0;
    m_progress->setVisible(running || fills);
    if (running && m_state && m_state->isRunning) {
        const sim::PlanProgress& now = m_state->progress;
        // Grids judged, then the floor as it rises to the best step.
        const double least = std::max(now.floorSeconds, 0.0);
        const double share = now.gridsDone < now.grids ? 0.3 * static_cast<double>(now.gridsDone) / static_cast<double>(now.grids)
                             : now.bestSeconds > 0 && least > 0 ? 0.3 + 0.7 * std::min(1.0, least / now.bestSeconds)
                                                                : 0.3;
        m_progress->setRange(0, 1000);
        m_progress->setValue(static_cast<int>(share * 1000));
    } else if (running || fills) {
        m_progress->setRange(0, 0); // how far is not known: it moves
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
            text = tr("%1: %2. %3 at the peak, %4 left; %5")
                       .arg(QString::fromStdString(layoutText(layout)), QString::fromStdString(m_picture->differenceText(layout)))
                       .arg(memoryQuantity(layout.peakMemoryGib).text(), memoryQuantity(layout.headroomGib).text())
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
            else if (!m_picture->isEmpty() && !m_picture->answer().noTies.empty() && !m_picture->answer().best.empty() &&
                     m_picture->answer().best.front().settings != layout.settings)
                text += tr(". Whether it is a tie with the first cannot be told: %1")
                            .arg(QString::fromStdString(m_picture->answer().noTies));
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
    if (!isOfNow) {
        m_costView.set({}, m_price);
        return;
    }
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

void PlanPanel::namePages(bool inWords)
{
    m_sideButtons->button(1)->setText(inWords ? tr("Time and memory") : tr("Time"));
    m_sideButtons->button(2)->setText(inWords ? tr("Days and cost") : tr("Cost"));
}

/// Beside the pages where columns of so wide a map have room for a number there; names of pages give way first, then the place.
void PlanPanel::placeMap(int mapWidth, int room)
{
    constexpr int kNarrowestList = 300;
    const auto isRoomBeside = [&](bool inWords) {
        namePages(inWords);
        int pages = 0;
        for (const QAbstractButton* button : m_sideButtons->buttons())
            pages += button->sizeHint().width();
        return mapWidth + m_split->handleWidth() + std::max(kNarrowestList, pages) <= room;
    };
    const bool hasWords = width() >= kRoomForWords;
    const bool isBeside = width() >= kRoomBeside && ((hasWords && isRoomBeside(true)) || isRoomBeside(false));
    if (!isBeside)
        namePages(hasWords);
    m_split->setOrientation(isBeside ? Qt::Horizontal : Qt::Vertical);
    m_mapCanvas->setMinimumWidth(isBeside ? mapWidth : kNarrowestPicture);
}

/// Smaller, cells and rows would say nothing: the panel scrolls instead.
void PlanPanel::fitPictures()
{
    constexpr int kAroundSplit = 24, kScrollBar = 12;
    const auto upTo = [](float pixels) { return static_cast<int>(std::ceil(pixels)); };
    const int room = width() - kAroundSplit - kScrollBar;
    const int mapWidth = std::max(kNarrowestPicture, upTo(m_map.leastWidth()));
    const std::array placed{room, mapWidth, m_sideButtons->button(0)->sizeHint().width()}; // the last: as large as text is
    if (std::exchange(m_placedFor, placed) != placed)
        placeMap(mapWidth, room);
    const bool isBeside = m_split->orientation() == Qt::Horizontal;
    const int shown = isBeside ? std::max(mapWidth, m_mapCanvas->width()) : room;
    m_mapCanvas->setMinimumHeight(std::max(kLowestPicture, upTo(m_map.leastHeight(static_cast<float>(shown)))));
    m_bestCanvas->setMinimumHeight(std::max(kLowestPicture, upTo(m_best.leastHeight(!isBeside))));
}

void PlanPanel::refreshFrames()
{
    refreshSizes();
    refreshCostPage();
    fitPictures();
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
