#include "app/shell/workspace.h"

#include "app/shell/format.h"

#include <QCursor>
#include <QSplitter>
#include <QVBoxLayout>

namespace app {
namespace {

double seconds(std::int64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) * 1e-9;
}

bool exists(const TracePtr& trace, const std::optional<SpanRef>& span)
{
    return trace && span && span->track < trace->tracks.size() && span->span < trace->tracks[span->track].size();
}

} // namespace

QString spanName(const sim::Trace& trace, SpanRef span)
{
    const sim::Track& track = trace.tracks[span.track];
    QString name = QString::fromStdString(trace.kinds[track.kind[span.span]].name);
    if (track.role == sim::TrackRole::actions && track.microbatch[span.span] >= 0)
        name += QString::fromStdString(trace.microbatchText(track.microbatch[span.span]));
    return name;
}

Workspace::Workspace(Renderer renderer, QWidget* parent)
    : QWidget(parent), m_grid(m_selection, lightTheme()), m_timeline(m_selection, lightTheme()),
      m_splitter(new QSplitter(Qt::Vertical)), m_lower(new QWidget), m_gridCanvas(new CanvasWidget(m_grid, renderer)),
      m_timelineCanvas(new CanvasWidget(m_timeline, renderer)), m_lastUsed(m_timelineCanvas),
      m_editor(new OrderEditorPanel(renderer))
{
    constexpr int kLowestPicture = 120;
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_splitter);
    m_splitter->setHandleWidth(1);
    m_splitter->setChildrenCollapsible(false);
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelineCanvas}) {
        canvas->setMinimumHeight(kLowestPicture);
        canvas->setFocusPolicy(Qt::StrongFocus);
        connect(canvas, &CanvasWidget::viewChanged, this, [this, canvas] { selectionMayHaveChanged(*canvas); });
    }
    m_gridCanvas->setAccessibleName(tr("Rank grid"));
    m_timelineCanvas->setAccessibleName(tr("Timeline"));
    m_editor->hide();
    auto* lower = new QVBoxLayout(m_lower);
    lower->setContentsMargins(0, 0, 0, 0);
    lower->addWidget(m_timelineCanvas);
    lower->addWidget(m_editor);
    m_splitter->addWidget(m_gridCanvas);
    m_splitter->addWidget(m_lower);
    m_splitter->setStretchFactor(0, 1);
    m_splitter->setStretchFactor(1, 1);
    constexpr int kEqual = 1000;
    m_splitter->setSizes({kEqual, kEqual});
}

Workspace::~Workspace()
{
    delete m_splitter; // with the canvases, before the views they show
}

void Workspace::setResult(SimulationPtr simulation, TracePtr actions)
{
    m_simulation = std::move(simulation);
    m_grid.setStep(m_simulation, nullptr);
    m_gridCanvas->requestFrame();
    const int worldSize = m_simulation ? m_simulation->mesh().worldSize() : 0;
    m_selection.keepBelow(worldSize);
    setTrace(std::move(actions));
}

void Workspace::setTrace(TracePtr trace)
{
    m_trace = std::move(trace);
    m_timeline.setStep(m_simulation, m_trace); // forgets what was selected in the old one
    m_timelineCanvas->requestFrame();
    m_shownSelection = m_selection;
    emit selectionChanged();
}

void Workspace::startAnew()
{
    m_selection = {};
    m_shownSelection = {};
    setResult(nullptr, nullptr);
}

void Workspace::setStepping(bool on)
{
    m_timeline.setStepping(on);
    if (on)
        m_timelineCanvas->setFocus();
    m_lastUsed = m_timelineCanvas;
    m_timelineCanvas->requestFrame();
    selectionMayHaveChanged(*m_timelineCanvas);
}

void Workspace::startEditing(OrderDraft draft)
{
    if (!isEditing())
        m_timelineWanted = isPictureVisible(Picture::timeline);
    // What changes places keeps its size.
    QList<int> heights = m_splitter->sizes();
    if (heights[1] == 0)
        heights = {1, 1};
    m_timelineCanvas->hide();
    m_editor->show();
    m_lower->show();
    m_splitter->setSizes(heights);
    m_editor->start(std::move(draft));
}

void Workspace::stopEditing()
{
    if (!isEditing())
        return;
    m_editor->hide();
    setPictureVisible(Picture::timeline, m_timelineWanted);
    m_timelineCanvas->setFocus();
}

bool Workspace::isEditing() const
{
    return !m_editor->isHidden();
}

void Workspace::setTheme(const Theme& theme)
{
    m_grid.setTheme(theme);
    m_timeline.setTheme(theme);
    m_editor->setTheme(theme);
    m_gridCanvas->requestFrame();
    m_timelineCanvas->requestFrame();
}

void Workspace::selectRank(int rank)
{
    if (!m_simulation || rank < 0 || rank >= m_simulation->mesh().worldSize())
        return;
    m_selection.selectRank(rank);
    selectionMayHaveChanged(*m_gridCanvas);
    m_gridCanvas->requestFrame();
}

void Workspace::selectionMayHaveChanged(CanvasWidget& by)
{
    m_lastUsed = &by;
    if (m_selection == m_shownSelection)
        return;
    m_shownSelection = m_selection;
    (&by == m_gridCanvas ? m_timelineCanvas : m_gridCanvas)->requestFrame();
    emit selectionChanged();
}

QString Workspace::pointedText() const
{
    const auto duration = [](std::int64_t ns) { return durationQuantity(seconds(ns)).text(); };
    if (exists(m_trace, m_selection.hoveredSpan)) {
        const SpanRef span = *m_selection.hoveredSpan;
        const sim::Track& track = m_trace->tracks[span.track];
        return tr("%1 · %2 at %3 · %4")
            .arg(spanName(*m_trace, span), duration(track.durationNs[span.span]), duration(track.startNs[span.span]),
                 QString::fromStdString(m_trace->processes[static_cast<std::size_t>(track.process)].name));
    }
    if (m_simulation && m_selection.hoveredRank) {
        const sim::Coordinates c = m_simulation->mesh().coordinates(*m_selection.hoveredRank);
        return tr("Rank %1 · tp %2 · cp %3 · pp %4 · dp %5")
            .arg(separated(*m_selection.hoveredRank))
            .arg(c.tp)
            .arg(c.cp)
            .arg(c.pp)
            .arg(c.dp);
    }
    if (m_selection.range) {
        const auto [begin, end] = *m_selection.range;
        return tr("Selected %1, from %2 to %3").arg(duration(end - begin), duration(begin), duration(end));
    }
    return {};
}

CanvasWidget& Workspace::commandTarget() const
{
    const QWidget* pointed = childAt(mapFromGlobal(QCursor::pos()));
    if (isEditing() && pointed != m_gridCanvas && !m_gridCanvas->isAncestorOf(pointed))
        return m_editor->canvas();
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelineCanvas}) {
        if (pointed == canvas || canvas->isAncestorOf(pointed))
            return *canvas;
    }
    for (CanvasWidget* canvas : {m_gridCanvas, m_timelineCanvas}) {
        if (canvas->isVisible() && canvas->hasFocus())
            return *canvas;
    }
    if (!m_lastUsed->isHidden())
        return *m_lastUsed;
    return m_lastUsed == m_gridCanvas ? *m_timelineCanvas : *m_gridCanvas;
}

void Workspace::runCommand(ViewCommand command, bool fast)
{
    const bool moves = command == ViewCommand::moveEarlier || command == ViewCommand::moveLater;
    CanvasWidget& target = moves ? m_editor->canvas() : commandTarget();
    target.runCommand(command, fast);
    if (&target != &m_editor->canvas())
        selectionMayHaveChanged(target);
}

void Workspace::setPictureVisible(Picture picture, bool visible)
{
    if (picture == Picture::timeline && isEditing()) {
        m_timelineWanted = visible;
        return;
    }
    canvas(picture).setVisible(visible);
    if (picture == Picture::timeline)
        m_lower->setVisible(visible);
}

bool Workspace::isPictureVisible(Picture picture) const
{
    return picture == Picture::timeline && isEditing() ? m_timelineWanted : !canvas(picture).isHidden();
}

} // namespace app
