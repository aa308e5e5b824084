#include "app/shell/recorded/recorded_simulated.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/views/memory/memory_view.h"
#include "app/views/storage/storage_view.h"
#include "app/views/traffic/traffic_view.h"

#include <QBoxLayout>
#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>

#include <algorithm>

namespace app {

RecordedSimulated::RecordedSimulated(Selection& selection, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_which(new ChoiceBox), m_words(wordsLabel("muted12")), m_top(new QBoxLayout(QBoxLayout::LeftToRight)),
      m_pages(new QStackedWidget)
{
    m_views[0] = std::make_unique<MemoryView>(selection, lightTheme());
    m_views[1] = std::make_unique<TrafficView>(selection, lightTheme());
    m_views[2] = std::make_unique<StorageView>(selection, lightTheme());
    m_which->setAccessibleName(tr("Picture of what is simulated"));
    m_which->addItems({tr("Memory"), tr("Traffic"), tr("Storage")});
    m_words->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_top->setContentsMargins(12, 6, 12, 6);
    m_top->setSpacing(8);
    m_top->addWidget(m_which, 0, Qt::AlignTop | Qt::AlignLeft);
    m_top->addWidget(m_words, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(m_top);
    column->addWidget(m_pages, 1);
    constexpr int kLowest = 80;
    for (std::size_t i = 0; i < kPictures; ++i) {
        m_canvases[i] = new CanvasWidget(*m_views[i], renderer);
        m_canvases[i]->setMinimumHeight(kLowest);
        m_canvases[i]->setFocusPolicy(Qt::StrongFocus);
        m_canvases[i]->setAccessibleName(tr("%1, as simulated").arg(m_which->itemText(static_cast<int>(i))));
        connect(m_canvases[i], &CanvasWidget::viewChanged, this, [this, i] { Q_EMIT used(m_canvases[i]); });
        m_views[i]->setAskBecause([this, i](const Becauses& of, Rect at) { openBecause(*m_canvases[i], of, at); });
        m_pages->addWidget(m_canvases[i]);
    }
    connect(m_which, &QComboBox::currentIndexChanged, this, [this] { fill(); });
    fill();
}

RecordedSimulated::~RecordedSimulated()
{
    delete m_pages; // with the canvases, before the views they show
}

void RecordedSimulated::show(const RecoveredRun* run, const RecordedPredictionPtr& prediction)
{
    m_run = run;
    m_prediction = prediction;
    m_isFilled.fill(false);
    for (const auto& view : m_views)
        view->setStep({});
    fill();
}

void RecordedSimulated::choose(SimulatedPicture which)
{
    m_which->setCurrentIndex(static_cast<int>(which));
}

void RecordedSimulated::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    fill();
}

/// Words in a narrow place have its whole width.
void RecordedSimulated::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    constexpr int kRoomForBoth = 400;
    m_top->setDirection(width() < kRoomForBoth ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

/// What a picture needs is made when it is looked at.
void RecordedSimulated::fill()
{
    const auto at = static_cast<std::size_t>(std::max(0, m_which->currentIndex()));
    m_pages->setCurrentIndex(static_cast<int>(at));
    m_pages->setVisible(m_prediction != nullptr);
    if (!m_prediction) {
        m_words->setText(m_run == nullptr ? QString() : missing(static_cast<SimulatedPicture>(at)));
        return;
    }
    const sim::Layout& layout = m_prediction->scenario.layout;
    m_words->setText(
        tr("As simulated for the recovered configuration (tp %1 · cp %2 · pp %3 · dp %4), with model and cluster of %5: "
           "nothing of it was measured.")
            .arg(layout.tp)
            .arg(layout.cp)
            .arg(layout.pp)
            .arg(layout.dp)
            .arg(m_prediction->name));
    if (isVisible())
        fillPicture(at);
}

void RecordedSimulated::fillPicture(std::size_t at)
{
    if (m_isFilled[at])
        return;
    m_isFilled[at] = true;
    m_views[at]->setStep({m_prediction->prediction->simulation, m_prediction->prediction->kernels});
    m_canvases[at]->requestFrame();
}

QString RecordedSimulated::missing(SimulatedPicture which) const
{
    const QString predict = tr("“Predict” asks for model and cluster, and simulates the recovered configuration.");
    switch (which) {
    case SimulatedPicture::memory: {
        const auto recorded = static_cast<std::int64_t>(m_run->answers.amounts.ranksWithMemory);
        return (recorded > 0
                    ? tr("Memory was recorded of %1 of %2 ranks: the lens of the grid shows the peaks. What it is made of no "
                         "trace says.")
                          .arg(separated(recorded), separated(static_cast<std::int64_t>(m_run->recording->ranks.size())))
                    : tr("No rank's memory was recorded. torch.profiler writes it with profile_memory=True.")) +
               QLatin1Char(' ') + predict;
    }
    case SimulatedPicture::traffic: {
        const auto all = static_cast<std::int64_t>(m_run->answers.amounts.exchanges),
                   known = static_cast<std::int64_t>(m_run->answers.amounts.withBytes);
        return (all == 0 ? tr("No collective was recorded.")
                         : tr("Of %1 of %2 collectives the bytes were recorded (torch writes them where the profiler has "
                              "record_shapes=True, or with NCCL's flight recorder); over which links they went no trace says.")
                               .arg(separated(known), separated(all))) +
               QLatin1Char(' ') + predict;
    }
    case SimulatedPicture::storage:
        break;
    }
    return tr("Which parameters, gradients and optimizer states a rank holds stands in no trace.") + QLatin1Char(' ') + predict;
}

void RecordedSimulated::setTheme(const Theme& theme)
{
    for (const auto& view : m_views)
        view->setTheme(theme);
    requestFrame();
}

void RecordedSimulated::requestFrame()
{
    for (CanvasWidget* canvas : m_canvases)
        if (canvas->isVisible())
            canvas->requestFrame();
}

View* RecordedSimulated::viewOf(const CanvasWidget* canvas) const
{
    for (std::size_t i = 0; i < kPictures; ++i)
        if (m_canvases[i] == canvas)
            return m_views[i].get();
    return nullptr;
}

std::vector<FigureSource> RecordedSimulated::figures(QSize elsewhere)
{
    constexpr std::array<const char*, kPictures> kFileNames{"memory", "traffic", "storage"};
    std::vector<FigureSource> out;
    for (std::size_t i = 0; m_prediction && i < kPictures; ++i) {
        fillPicture(i);
        out.push_back({tr("%1, as simulated").arg(m_which->itemText(static_cast<int>(i))), QLatin1String(kFileNames[i]),
                       m_views[i].get(), [view = m_views[i].get()](const Theme& theme) { view->setTheme(theme); },
                       m_canvases[i]->isVisible() ? m_canvases[i]->size() : elsewhere});
    }
    return out;
}

QString RecordedSimulated::words() const
{
    return m_words->text();
}

} // namespace app
