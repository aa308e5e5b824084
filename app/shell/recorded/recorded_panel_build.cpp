// What the page of a recorded run is put together from.
#include "app/shell/recorded/recorded_panel.h"

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
#include <utility>

namespace app {
namespace {

/// Words above a table.
QWidget* tablePage(RecordedTable& table, QLabel* words = nullptr)
{
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 4, 0, 0);
    column->setSpacing(4);
    if (words != nullptr) {
        words->setContentsMargins(12, 2, 12, 2);
        column->addWidget(words);
    }
    column->addWidget(&table, 1);
    return page;
}

} // namespace

void RecordedPanel::buildHeader(QVBoxLayout& column)
{
    m_steps->setAccessibleName(tr("Step"));
    m_steps->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_rowsBox->setAccessibleName(tr("Rows of the timeline"));
    m_rowsBox->addItems({tr("Time use"), tr("Streams"), tr("Streams and host")});
    m_rowsBox->setToolTip(tr("One lane a rank, every stream of its GPU, or the threads of its host too"));
    connect(m_steps, &QComboBox::activated, this, [this](int index) { chooseStep(static_cast<std::size_t>(index)); });
    connect(m_rowsBox, &QComboBox::activated, this, [this](int index) { setRows(static_cast<RecordedRows>(index)); });
    column.addWidget(m_header);

    setRole(m_notice, "notice");
    auto* notice = new QHBoxLayout(m_notice);
    notice->setContentsMargins(16, 6, 12, 6);
    notice->addWidget(m_noticeText, 1);
    auto* close = new QToolButton;
    close->setText(tr("Dismiss"));
    setRole(close, "link");
    connect(close, &QToolButton::clicked, m_notice, &QWidget::hide);
    notice->addWidget(close);
    m_notice->hide();
    column.addWidget(m_notice);
    column.addWidget(m_cacheQuestion);
    connect(m_cacheQuestion, &CacheQuestion::agreed, this, [this] {
        if (m_run)
            m_run->keepCache();
    });
}

void RecordedPanel::buildReading()
{
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(48, 24, 48, 24);
    column->setSpacing(12);
    column->addStretch(1);
    for (QLabel* label : {m_readingText, m_readingProblem})
        column->addWidget(label);
    m_progress->setAccessibleName(tr("How far the files are read"));
    m_progress->setTextVisible(false);
    column->addWidget(m_progress);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_cancel);
    buttons->addWidget(m_openOther);
    buttons->addStretch(1);
    column->addLayout(buttons);
    column->addStretch(2);
    m_pages->addWidget(page);
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        if (m_run)
            m_run->cancel();
    });
    connect(m_openOther, &QPushButton::clicked, this, &RecordedPanel::openOtherRequested);
}

/// Two timelines need more of the page than one; once somebody has shared it out it stays so.
void RecordedPanel::makeRoomForTwoTimelines()
{
    constexpr int kUpperPercent = 34, kShare = 100; // together beyond any page: a splitter takes what is below its least for that
    if (!std::exchange(m_isSharedOut, true))
        m_splitRows->setSizes({kUpperPercent * kShare, (100 - kUpperPercent) * kShare});
}

void RecordedPanel::buildContent()
{
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_cards);

    constexpr int kLowest = 120, kNarrowest = 240;
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelinesCanvas}) {
        canvas->setMinimumHeight(kLowest);
        canvas->setFocusPolicy(Qt::StrongFocus);
        connect(canvas, &CanvasWidget::viewChanged, this, [this, canvas] { selectionMayHaveChanged(canvas); });
    }
    m_gridCanvas->setMinimumWidth(kNarrowest);
    m_gridCanvas->setAccessibleName(tr("Rank grid of the recorded run"));
    m_timelinesCanvas->setAccessibleName(tr("Timeline of the recorded run"));
    m_timelines.setAskBecause([this](const Becauses& of, Rect at) { openBecause(*m_timelinesCanvas, of, at); });
    m_timelines.setMemoryVisible(false);

    connect(m_findings, &RecordedFindings::asked, this, &RecordedPanel::showFinding);
    const std::array<QString, kTabs> names{tr("Findings"),  tr("Ranks"),     tr("Communication"), tr("Steps"),
                                           tr("Kernels"),   tr("Path"),      tr("Recovered"),     tr("Prediction"),
                                           tr("Simulated"), tr("Comparison")};
    const auto wordsOf = [this](RecordedTab tab) {
        return tab == RecordedTab::prediction   ? m_predictionText
               : tab == RecordedTab::comparison ? m_comparisonText
               : tab == RecordedTab::path       ? m_pathText
                                                : nullptr;
    };
    for (std::size_t tab = 0; tab < kTabs; ++tab) {
        const auto which = static_cast<RecordedTab>(tab);
        QWidget* behind = which == RecordedTab::findings    ? m_findings
                          : which == RecordedTab::facts     ? static_cast<QWidget*>(m_facts)
                          : which == RecordedTab::simulated ? m_simulated
                                                            : nullptr;
        if (behind == nullptr) {
            m_tables[tab] = new RecordedTable(names[tab]);
            behind = tablePage(*m_tables[tab], wordsOf(which));
        }
        if (which == RecordedTab::kernels) {
            auto* both = new QSplitter(Qt::Vertical);
            both->addWidget(behind);
            both->addWidget(tablePage(*m_shapes, m_shapesText));
            m_shapesText->setMinimumHeight(52); // three lines: a splitter asks nobody how high words are in so narrow a place
            both->setChildrenCollapsible(false);
            behind = both;
        }
        m_tabs->add(names[tab], behind);
    }
    const auto chooseRank = [this](int rank) {
        m_selection.selectRank(rank);
        selectionMayHaveChanged(nullptr);
    };
    connect(tableAt(RecordedTab::ranks), &RecordedTable::chosen, this, chooseRank);
    connect(tableAt(RecordedTab::comparison), &RecordedTable::chosen, this, chooseRank);
    connect(tableAt(RecordedTab::path), &RecordedTable::chosen, this,
            [this](int stretch) { showStretch(static_cast<std::size_t>(stretch)); });
    connect(m_simulated, &RecordedSimulated::used, this, &RecordedPanel::selectionMayHaveChanged);
    connect(tableAt(RecordedTab::steps), &RecordedTable::chosen, this,
            [this](int step) { chooseStep(static_cast<std::size_t>(step)); });
    connect(m_facts, &RecordedFacts::gridSaid, this, [this](const std::vector<sim::NamedAxis>& grid) {
        if (m_run)
            m_run->sayGrid(grid);
    });

    m_side->setMinimumWidth(kNarrowest);
    m_upper->addWidget(m_gridCanvas);
    m_upper->addWidget(m_side);
    m_splitRows->addWidget(m_upper);
    m_splitRows->addWidget(m_timelinesCanvas);
    for (QSplitter* splitter : {m_splitRows, m_upper}) {
        splitter->setHandleWidth(1);
        splitter->setChildrenCollapsible(false);
    }
    constexpr int kShare = 100;
    m_upper->setSizes({4 * kShare, 7 * kShare}); // all tabs beside each other on a small screen
    m_upper->setStretchFactor(0, 4);
    m_upper->setStretchFactor(1, 7);
    m_splitRows->setSizes({4 * kShare, 5 * kShare});
    m_splitRows->setStretchFactor(0, 4);
    m_splitRows->setStretchFactor(1, 5);
    connect(m_splitRows, &QSplitter::splitterMoved, this, [this] { m_isSharedOut = true; });
    column->addWidget(m_splitRows, 1);
    column->addWidget(m_transport);
    m_pages->addWidget(page);
    m_transport->hide(); // wherever it stands: without a step there is nothing to play
    connect(m_pages, &QStackedWidget::currentChanged, m_transport,
            [this](int shown) { m_transport->setVisible(m_pages->widget(shown) != m_pages->widget(0)); });

    connect(&m_playback, &Playback::moved, this, &RecordedPanel::moveCursor);
    connect(&m_playback, &Playback::stateChanged, this, [this] {
        if (m_playback.isPlaying() && m_grid.showNow())
            m_gridCanvas->requestFrame();
    });
    connect(m_transport, &TransportBar::scrubbed, this, &RecordedPanel::moveCursor);
    connect(m_transport, &TransportBar::stepRequested, this, [this](bool forward) {
        m_timelinesCanvas->runCommand(forward ? ViewCommand::next : ViewCommand::previous);
        selectionMayHaveChanged(m_timelinesCanvas);
    });
}

} // namespace app
