#include "app/shell/window/workspace.h"

#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/transport_bar.h"
#include "app/views/memory/memory_view.h"
#include "app/views/timeline/timeline_view.h"

#include <QApplication>
#include <QCursor>
#include <QDockWidget>
#include <QMainWindow>
#include <QVBoxLayout>

#include <algorithm>
#include <cassert>

namespace app {
namespace {

constexpr int kLowestPicture = 120; ///< lower a timeline has no row between its ruler and its legend, a grid one row of cells
constexpr int kTabHeight = 30;

double seconds(std::int64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) * 1e-9;
}

} // namespace

Workspace::Workspace(Desk& desk, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_desk(desk), m_docks(new QMainWindow), m_transport(new TransportBar(desk.playback())),
      m_timelinePlace(new QWidget), m_editor(new OrderEditorPanel(renderer))
{
    m_docks->setWindowFlags(Qt::Widget);
    m_docks->setDockNestingEnabled(true);
    m_docks->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored); // with too little room for all, docks fold
    m_docks->setMinimumHeight(kLowestPicture + kTabHeight);             // until one is in front and can be read
    m_docks->setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks | QMainWindow::GroupedDragging);
    m_docks->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    m_docks->setDocumentMode(true);
    m_docks->setContextMenuPolicy(Qt::NoContextMenu); // the View menu lists them
    m_shareTimer.setSingleShot(true);
    m_shareTimer.setInterval(0);
    connect(&m_shareTimer, &QTimer::timeout, this, &Workspace::sizesChanged);
    m_pictures.reserve(pictures().size());
    for (const PictureInfo& info : pictures())
        addPicture(info, renderer);

    m_editor->hide();
    auto* place = new QVBoxLayout(m_timelinePlace);
    place->setContentsMargins(0, 0, 0, 0);
    place->addWidget(at(Picture::timeline).canvas);
    place->addWidget(m_editor);
    at(Picture::timeline).dock->setWidget(m_timelinePlace);
    m_lastUsed = at(Picture::timeline).canvas;

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_docks, 1);
    column->addWidget(m_transport);
    m_docks->hide(); // until they are arranged: each that comes or goes would lay out all the others
    m_note = new MaskNote(this);

    connect(&m_desk.playback(), &Playback::moved, this, [this] {
        timeline().keepCursorInSight();
        m_desk.selectionMayHaveChanged();
    });
    connect(m_transport, &TransportBar::scrubbed, this, [this](qint64 ns) {
        m_desk.setCursor(ns);
        if (timeline().keepCursorInSight())
            canvas(Picture::timeline).requestFrame();
    });
    connect(m_transport, &TransportBar::stepRequested, this, [this](bool forward) {
        m_desk.playback().pause();
        canvas(Picture::timeline).runCommand(forward ? ViewCommand::next : ViewCommand::previous);
        selectionMayHaveChanged(canvas(Picture::timeline));
    });
    connect(m_transport, &TransportBar::steppingLeft, this, &Workspace::steppingLeft);
    connect(&m_desk.playback(), &Playback::stateChanged, this, [this] {
        if (m_desk.playback().isPlaying())
            showNow();
    });
    connect(&m_desk, &Desk::opened, this, [this] {
        timeline().find({}); // what was searched for was of another scenario
        if (isStepping()) {  // likewise what was walked through
            timeline().setStepping(false);
            m_transport->setStepping(false);
            leaveNow();
        }
        stepChanged();
    });
    connect(&m_desk, &Desk::stepChanged, this, &Workspace::stepChanged);
    connect(&m_desk, &Desk::detailChanged, this, &Workspace::stepChanged);
    connect(&m_desk, &Desk::modelReady, this, [this](qsizetype picture) {
        if (Shown& shown = m_pictures[static_cast<std::size_t>(picture)]; isWanted(shown))
            bringUpToDate(shown);
    });
    connect(&m_desk, &Desk::waits, this, &Workspace::showWaiting);
    connect(&m_desk, &Desk::selectionChanged, this, &Workspace::selectionChanged);
    connect(&m_desk, &Desk::zoomChanged, this, [this] { requestFrames(m_changing); });
}

Workspace::~Workspace()
{
    m_desk.playback().disconnect(this);
    m_desk.disconnect(this);
    delete m_docks; // with the canvases, before the views they show
}

void Workspace::addPicture(const PictureInfo& info, Renderer renderer)
{
    Shown shown;
    shown.picture = info.picture;
    shown.view = info.make(m_desk.selection(), lightTheme(), &m_desk.zoom());
    shown.canvas = new CanvasWidget(*shown.view, renderer);
    answerBecause(shown);
    shown.canvas->setMinimumSize(readableWidth(info.picture), kLowestPicture);
    shown.canvas->setFocusPolicy(Qt::StrongFocus);
    shown.canvas->setAccessibleName(tr(info.title));
    connect(shown.canvas, &CanvasWidget::viewChanged, this, [this, canvas = shown.canvas] { selectionMayHaveChanged(*canvas); });
    shown.dock = new QDockWidget(tr(info.title));
    shown.dock->setObjectName(QStringLiteral("picture/") + QLatin1String(info.name));
    shown.dock->setAccessibleName(tr(info.title));
    setRole(shown.dock, "picture");
    shown.dock->setWidget(shown.canvas);
    shown.dock->installEventFilter(this);
    m_docks->addDockWidget(info.picture == Picture::timeline ? Qt::BottomDockWidgetArea : Qt::TopDockWidgetArea, shown.dock);
    connect(shown.dock, &QDockWidget::dockLocationChanged, this, &Workspace::tidySoon);
    connect(shown.dock, &QDockWidget::dockLocationChanged, this, [this] { m_isUsual = m_isUsual && m_isPlacing; });
    connect(shown.dock, &QDockWidget::topLevelChanged, this, &Workspace::tidySoon);
    connect(shown.dock, &QDockWidget::visibilityChanged, this, &Workspace::tidySoon);
    connect(shown.dock, &QDockWidget::visibilityChanged, this, [this, picture = info.picture](bool seen) {
        m_desk.setSeen(placeOf(at(picture)), seen || picture == Picture::timeline); // that is searched and stepped unseen too
        if (seen)
            bringUpToDate(at(picture));
        Q_EMIT picturesChanged();
    });
    if (info.whenAsked)
        shown.dock->hide();
    m_pictures.push_back(std::move(shown));
}

void Workspace::answerBecause(Shown& shown)
{
    shown.view->setAskBecause([this, asked = shown.canvas](const Becauses& of, Rect at) {
        openBecause(*asked, of, at, [this](const sim::ShowHint& hint) { Q_EMIT showRequested(hint); });
    });
}

std::size_t Workspace::placeOf(const Shown& shown) const
{
    return static_cast<std::size_t>(&shown - m_pictures.data());
}

const Workspace::Shown& Workspace::at(Picture picture) const
{
    const auto found =
        std::find_if(m_pictures.begin(), m_pictures.end(), [&](const Shown& shown) { return shown.picture == picture; });
    assert(found != m_pictures.end());
    return *found;
}

TimelineView& Workspace::timeline()
{
    return static_cast<TimelineView&>(*at(Picture::timeline).view);
}

void Workspace::bringUpToDate(Shown& shown)
{
    const std::size_t place = placeOf(shown);
    if (shown.isStale && m_desk.isPrepared(place)) {
        const QString& failure = m_desk.whyNoModel(place);
        shown.view->setStep(failure.isEmpty() ? m_desk.step() : ShownStep{}, m_desk.model(place));
        shown.isStale = false;
        showWaiting();
    }
    shown.canvas->requestFrame();
}

/// Others wait until somebody sees them.
bool Workspace::isWanted(const Shown& shown) const
{
    return shown.picture == Picture::timeline || isPictureInFront(shown.picture);
}

void Workspace::stepChanged()
{
    for (Shown& shown : m_pictures) {
        shown.isStale = true;
        if (isWanted(shown) && m_desk.isPrepared(placeOf(shown)))
            bringUpToDate(shown);
        else
            shown.view->setStep({}); // until it is: the one before would be untrue, and large
    }
    m_transport->showPosition();
    requestFrames();
}

/// What pictures say that have no step.
void Workspace::showWaiting()
{
    for (const Shown& shown : m_pictures) {
        const QString& failure = m_desk.whyNoModel(placeOf(shown));
        const QString why = !m_desk.simulation() ? m_desk.whyNoStep()
                            : failure.isEmpty()  ? tr("Preparing this picture…")
                                                 : failure;
        shown.view->setHint(why.toStdString());
    }
    if (!m_desk.simulation())
        requestFrames();
}

void Workspace::setStepping(bool on)
{
    if (on) {
        setPictureVisible(Picture::timeline, true);
        m_desk.playback().pause(); // one walks by oneself now
    }
    timeline().setStepping(on);
    m_transport->setStepping(on);
    if (on)
        showNow();
    else
        leaveNow();
    CanvasWidget& canvas = this->canvas(Picture::timeline);
    if (on)
        canvas.setFocus();
    m_lastUsed = &canvas;
    canvas.requestFrame();
    selectionMayHaveChanged(canvas);
}

bool Workspace::isStepping() const
{
    return static_cast<const TimelineView&>(*at(Picture::timeline).view).isStepping();
}

void Workspace::showNow()
{
    for (const Shown& shown : m_pictures)
        if (shown.view->showNow())
            shown.canvas->requestFrame();
}

std::vector<Picture> Workspace::leaveNow()
{
    std::vector<Picture> left;
    if (isStepping() || m_desk.playback().isPlaying())
        return left;
    for (const Shown& shown : m_pictures)
        if (shown.view->leaveNow()) {
            shown.canvas->requestFrame();
            left.push_back(shown.picture);
        }
    return left;
}

void Workspace::startEditing(OrderDraft draft)
{
    if (!isEditing())
        m_timelineWanted = isPictureVisible(Picture::timeline);
    m_desk.playback().pause();
    canvas(Picture::timeline).hide();
    m_editor->show();
    at(Picture::timeline).dock->show();
    at(Picture::timeline).dock->raise();
    m_editor->start(std::move(draft));
    m_editor->canvas().setFocus();
}

void Workspace::stopEditing()
{
    if (!isEditing())
        return;
    m_editor->hide();
    canvas(Picture::timeline).show();
    setPictureVisible(Picture::timeline, m_timelineWanted);
    canvas(Picture::timeline).setFocus();
}

bool Workspace::isEditing() const
{
    return !m_editor->isHidden();
}

void Workspace::setTheme(const Theme& theme, const QString& assets)
{
    for (Shown& shown : m_pictures)
        shown.view->setTheme(theme);
    m_editor->setTheme(theme);
    m_transport->setIcons(assets, theme);
    requestFrames();
}

void Workspace::setCovered(bool covered)
{
    m_isCovered = covered;
    setUpdatesEnabled(!covered);
    letAsk();
    requestFrames();
}

void Workspace::setMasked(bool masked)
{
    m_isMasked = masked;
    maskCanvases();
}

/// Also under a note: a picture in a window of its own is read past it, and screen readers read what lies behind it.
void Workspace::maskCanvases()
{
    for (Shown& shown : m_pictures)
        shown.canvas->setMasked(m_isMasked || !isSeen(shown));
    letAsk();
}

bool Workspace::isSeen(const Shown& shown) const
{
    return !m_hasNote && (m_only.empty() || std::find(m_only.begin(), m_only.end(), shown.picture) != m_only.end());
}

void Workspace::setTimesMasked(bool masked)
{
    m_transport->setMasked(masked);
}

void Workspace::setNote(const QString& text)
{
    m_hasNote = !text.isEmpty();
    m_note->setText(text);
    m_note->setVisible(m_hasNote);
    m_note->raise();
    showNotes();
}

void Workspace::setOnly(std::vector<Picture> pictures, const QString& why)
{
    m_only = std::move(pictures);
    m_whyOnly = why;
    showNotes();
}

void Workspace::showNotes()
{
    for (Shown& shown : m_pictures) { // those in windows of their own are not behind the one of all
        if (shown.note == nullptr && isSeen(shown))
            continue;
        if (shown.note == nullptr)
            shown.note = new MaskNote(shown.dock->widget());
        shown.note->setText(m_hasNote ? m_note->text() : m_whyOnly);
        shown.note->setVisible(!isSeen(shown));
        shown.note->raise();
    }
    maskCanvases();
}

void Workspace::setLeastMemory(std::int64_t bytes)
{
    static_cast<MemoryView&>(*at(Picture::memory).view).setLeastBytes(bytes);
    at(Picture::memory).canvas->requestFrame();
}

void Workspace::letAsk()
{
    for (Shown& shown : m_pictures) {
        if (m_isCovered || m_isMasked || !isSeen(shown))
            shown.view->setAskBecause({});
        else
            answerBecause(shown);
    }
}

void Workspace::requestFrames(const CanvasWidget* except)
{
    for (const Shown& shown : m_pictures) {
        if (shown.canvas != except)
            shown.canvas->requestFrame();
    }
}

void Workspace::selectSpan(SpanRef span)
{
    if (!m_desk.selectSpan(span))
        return;
    setPictureVisible(Picture::timeline, true);
    canvas(Picture::timeline).runCommand(ViewCommand::focusSelection);
}

StepView& Workspace::upToDateView(Picture picture)
{
    Shown& shown = at(picture);
    if (shown.isStale) {
        shown.view->setStep(m_desk.step(), m_desk.model(placeOf(shown))); // which takes its time where nothing is prepared
        shown.isStale = !m_desk.isPrepared(placeOf(shown));
    }
    return *shown.view;
}

Picture Workspace::lastUsedPicture() const
{
    const auto used = std::find_if(m_pictures.begin(), m_pictures.end(), [&](const Shown& s) { return s.canvas == m_lastUsed; });
    if (used != m_pictures.end() && isPictureVisible(used->picture))
        return used->picture;
    const auto shown = std::find_if(m_pictures.begin(), m_pictures.end(), [](const Shown& s) { return !s.dock->isHidden(); });
    return shown == m_pictures.end() ? Picture::grid : shown->picture;
}

Picture Workspace::pictureInHand() const
{
    const Picture used = lastUsedPicture();
    if (isPictureInFront(used))
        return used;
    const QList<QDockWidget*> sharing = m_docks->tabifiedDockWidgets(at(used).dock);
    const auto before = std::find_if(m_pictures.begin(), m_pictures.end(),
                                     [&](const Shown& s) { return sharing.contains(s.dock) && isPictureInFront(s.picture); });
    return before == m_pictures.end() ? used : before->picture;
}

void Workspace::selectionMayHaveChanged(CanvasWidget& by)
{
    m_lastUsed = &by;
    m_changing = &by;
    m_desk.selectionMayHaveChanged();
    m_changing = nullptr;
}

void Workspace::selectionChanged()
{
    if (timeline().stepToCursor()) {
        m_desk.selectionMayHaveChanged(); // which comes here again, with the action in it
        return;
    }
    m_transport->showPosition();
    requestFrames(m_changing);
}

std::size_t Workspace::findSpans(const QString& text)
{
    const std::size_t found = timeline().find(text.toStdString());
    if (found > 0) {
        setPictureVisible(Picture::timeline, true);
        timeline().findNext();
    }
    canvas(Picture::timeline).requestFrame();
    selectionMayHaveChanged(canvas(Picture::timeline));
    return found;
}

QString Workspace::pointedText() const
{
    const auto duration = [](std::int64_t ns) { return durationQuantity(seconds(ns)).text(); };
    const Selection& selection = m_desk.selection();
    if (const TracePtr& trace = m_desk.step().trace; selection.hoveredSpan && trace && exists(*trace, *selection.hoveredSpan)) {
        const SpanRef span = *selection.hoveredSpan;
        const sim::Track& track = trace->tracks[span.track];
        return tr("%1 · %2 at %3 · %4")
            .arg(spanName(*trace, span), duration(track.durationNs[span.span]), duration(track.startNs[span.span]),
                 QString::fromStdString(trace->processes[static_cast<std::size_t>(track.process)].name));
    }
    if (const SimulationPtr& simulation = m_desk.simulation(); simulation && selection.hoveredRank) {
        const sim::Coordinates c = simulation->mesh().coordinates(*selection.hoveredRank);
        return tr("Rank %1 · tp %2 · cp %3 · pp %4 · dp %5")
            .arg(separated(*selection.hoveredRank))
            .arg(c.tp)
            .arg(c.cp)
            .arg(c.pp)
            .arg(c.dp);
    }
    if (selection.range) {
        const auto [begin, end] = *selection.range;
        return tr("Selected %1, from %2 to %3").arg(duration(end - begin), duration(begin), duration(end));
    }
    if (selection.ranks.size() > 1)
        return tr("%1 ranks selected").arg(separated(static_cast<std::int64_t>(selection.ranks.size())));
    return {};
}

CanvasWidget& Workspace::commandTarget() const
{
    const QWidget* pointed = QApplication::widgetAt(QCursor::pos());
    const auto isPointed = [&](const QWidget* canvas) { return pointed == canvas || canvas->isAncestorOf(pointed); };
    if (isEditing() && std::none_of(m_pictures.begin(), m_pictures.end(), [&](const Shown& s) { return isPointed(s.canvas); }))
        return m_editor->canvas();
    if (m_pointerAtKey == QCursor::pos())
        for (const Shown& shown : m_pictures)
            if (shown.canvas->isVisible() && shown.canvas->hasFocus() && shown.canvas->hasFocusRing())
                return *shown.canvas;
    for (const Shown& shown : m_pictures) {
        if (isPointed(shown.canvas))
            return *shown.canvas;
    }
    for (const Shown& shown : m_pictures) {
        if (shown.canvas->isVisible() && shown.canvas->hasFocus())
            return *shown.canvas;
    }
    if (m_lastUsed->isVisible())
        return *m_lastUsed;
    const auto visible =
        std::find_if(m_pictures.begin(), m_pictures.end(), [](const Shown& shown) { return shown.canvas->isVisible(); });
    return visible == m_pictures.end() ? *m_lastUsed : *visible->canvas;
}

bool Workspace::runCommand(ViewCommand command, bool fast)
{
    const bool moves = command == ViewCommand::moveEarlier || command == ViewCommand::moveLater;
    if (command == ViewCommand::clear && isStepping()) {
        Q_EMIT steppingLeft();
        return true;
    }
    // The story names these two keys, and whoever follows it looks at other pictures meanwhile.
    const bool walks =
        isStepping() && isPictureVisible(Picture::timeline) && (command == ViewCommand::next || command == ViewCommand::previous);
    const bool ofTimeline = isOfTimeline(command) && isPictureVisible(Picture::timeline);
    CanvasWidget& target = moves                 ? m_editor->canvas()
                           : isOfGrid(command)   ? canvas(Picture::grid)
                           : walks || ofTimeline ? canvas(Picture::timeline)
                                                 : commandTarget();
    if (walks)
        m_desk.playback().pause(); // else it would run away from where one has gone
    const bool changed = target.runCommand(command, fast);
    if (command == ViewCommand::clear && !changed && &target == &m_editor->canvas() && !m_editor->hasMoves()) {
        Q_EMIT m_editor->cancelled(); // nothing is chosen any more, and nothing would be lost
        return true;
    }
    if (&target != &m_editor->canvas())
        selectionMayHaveChanged(target);
    if (command == ViewCommand::clear)
        Q_EMIT cleared();
    return changed;
}

} // namespace app
