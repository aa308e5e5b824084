#include "app/shell/window/workspace.h"

#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/transport_bar.h"
#include "app/views/memory/memory_view.h"
#include "app/views/timeline/timeline_view.h"
#include "app/views/traffic/traffic_view.h"

#include <QApplication>
#include <QCursor>
#include <QDataStream>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <QTabBar>
#include <QVBoxLayout>

#include <algorithm>
#include <cassert>

namespace app {
namespace {

constexpr int kLowestPicture = 88, kNarrowestPicture = 160;
constexpr int kLayoutVersion = 3;
constexpr int kLayoutWithoutUsual = 2; ///< it did not say whether docks lie as is usual
/// From this width on, the pictures beside the grid have a place of their own.
constexpr int kWideWorkspace = 1220;
/// Lower a picture that comes back can hardly be read.
constexpr int kReadableHeight = 220;

/// Narrower a picture is not read: names run into numbers, bars are lines, ranks have no numbers.
int readableWidth(Picture picture)
{
    switch (picture) {
    case Picture::storage:
        return 480;
    case Picture::memory:
        return 400;
    case Picture::grid:
    case Picture::timeline:
    case Picture::traffic:
    case Picture::block:
        return 360;
    }
    return 360;
}

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
    m_docks->setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks | QMainWindow::GroupedDragging);
    m_docks->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    m_docks->setDocumentMode(true);
    m_docks->setContextMenuPolicy(Qt::NoContextMenu); // the View menu lists them
    m_tidyTimer.setSingleShot(true);
    m_tidyTimer.setInterval(0);
    connect(&m_tidyTimer, &QTimer::timeout, this, &Workspace::tidyTabs);
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
    m_note = new MaskNote(this, {});

    connect(&m_desk.playback(), &Playback::moved, this, [this] {
        timeline().keepCursorInSight();
        m_desk.selectionMayHaveChanged();
    });
    connect(m_transport, &TransportBar::scrubbed, &m_desk, &Desk::setCursor);
    connect(m_transport, &TransportBar::stepRequested, this, [this](bool forward) {
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
    connect(shown.dock, &QDockWidget::dockLocationChanged, &m_tidyTimer, qOverload<>(&QTimer::start));
    connect(shown.dock, &QDockWidget::dockLocationChanged, this, [this] { m_isUsual = m_isUsual && m_isPlacing; });
    connect(shown.dock, &QDockWidget::topLevelChanged, &m_tidyTimer, qOverload<>(&QTimer::start));
    connect(shown.dock, &QDockWidget::visibilityChanged, &m_tidyTimer, qOverload<>(&QTimer::start));
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
    if (on)
        setPictureVisible(Picture::timeline, true);
    timeline().setStepping(on);
    m_transport->setStepping(on);
    if (on)
        showNow();
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
        shown.canvas->setMasked(m_isMasked || m_hasNote);
    letAsk();
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
    for (Shown& shown : m_pictures) { // those in windows of their own are not behind it
        if (shown.note == nullptr)
            shown.note = new MaskNote(shown.dock->widget(), {});
        shown.note->setText(text);
        shown.note->setVisible(m_hasNote);
        shown.note->raise();
    }
    maskCanvases();
}

void Workspace::setLeastMemory(std::int64_t bytes)
{
    static_cast<MemoryView&>(*at(Picture::memory).view).setLeastBytes(bytes);
    at(Picture::memory).canvas->requestFrame();
}

void Workspace::bringToFront(const std::vector<Picture>& wanted)
{
    for (auto picture = wanted.rbegin(); picture != wanted.rend(); ++picture) {
        const bool wasBrought = std::find(m_brought.begin(), m_brought.end(), *picture) != m_brought.end();
        const bool isBrought = wasBrought || !isPictureVisible(*picture);
        setPictureVisible(*picture, true);
        if (isBrought)
            m_brought.push_back(*picture);
    }
}

void Workspace::putBack()
{
    for (const Picture picture : std::exchange(m_brought, {}))
        setPictureVisible(picture, false);
}

void Workspace::letAsk()
{
    for (Shown& shown : m_pictures) {
        if (m_isCovered || m_isMasked || m_hasNote)
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

void Workspace::selectionMayHaveChanged(CanvasWidget& by)
{
    m_lastUsed = &by;
    m_changing = &by;
    m_desk.selectionMayHaveChanged();
    m_changing = nullptr;
}

void Workspace::selectionChanged()
{
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

void Workspace::runCommand(ViewCommand command, bool fast)
{
    const bool moves = command == ViewCommand::moveEarlier || command == ViewCommand::moveLater;
    const bool ofGrid = command >= ViewCommand::lensGroups && command <= ViewCommand::selectEpGroup;
    if (command == ViewCommand::clear && isStepping()) {
        Q_EMIT steppingLeft();
        return;
    }
    CanvasWidget& target = moves ? m_editor->canvas() : ofGrid ? canvas(Picture::grid) : commandTarget();
    target.runCommand(command, fast);
    if (&target != &m_editor->canvas())
        selectionMayHaveChanged(target);
}

void Workspace::setPictureVisible(Picture picture, bool visible)
{
    std::erase(m_brought, picture); // now it is as somebody wants it
    if (picture == Picture::timeline && isEditing()) {
        m_timelineWanted = visible;
        return;
    }
    Shown& changed = at(picture);
    if (!visible && isBesideOthers(changed))
        changed.before = changed.dock->size();
    const bool comesBack = visible && changed.dock->isHidden();
    changed.dock->setVisible(visible);
    if (comesBack)
        giveRoom(changed);
    if (visible)
        changed.dock->raise();
    if (comesBack && changed.before.isValid() && isBesideOthers(changed)) {
        m_docks->resizeDocks({changed.dock}, {std::max(changed.before.width(), readableWidth(picture))}, Qt::Horizontal);
        m_docks->resizeDocks({changed.dock}, {std::max(changed.before.height(), kReadableHeight)}, Qt::Vertical);
    }
    const auto isHidden = [](const Shown& shown) { return shown.dock->isHidden(); };
    if (std::all_of(m_pictures.begin(), m_pictures.end(), isHidden)) { // one of them is always there
        const Picture other = picture == Picture::timeline ? Picture::grid : Picture::timeline;
        at(other).dock->show();
    }
}

/// Where it would squeeze others or be squeezed beside them, it comes as a tab among them.
void Workspace::giveRoom(Shown& newcomer)
{
    if (newcomer.picture == Picture::timeline || !isBesideOthers(newcomer) || !m_isArranged)
        return;
    m_docks->layout()->activate();
    const bool fits = m_docks->layout()->minimumSize().width() <= m_docks->width() &&
                      (!isVisible() || newcomer.dock->width() >= readableWidth(newcomer.picture));
    if (fits)
        return;
    for (const Shown& other : m_pictures) {
        if (other.dock == newcomer.dock || other.picture == Picture::timeline || other.dock->isHidden() ||
            other.dock->isFloating())
            continue;
        const bool wasPlacing = std::exchange(m_isPlacing, true);
        m_docks->tabifyDockWidget(other.dock, newcomer.dock);
        m_isPlacing = wasPlacing;
        m_tidyTimer.start();
        return;
    }
}

bool Workspace::isPictureVisible(Picture picture) const
{
    return picture == Picture::timeline && isEditing() ? m_timelineWanted : !at(picture).dock->isHidden();
}

bool Workspace::isPictureInFront(Picture picture) const
{
    return at(picture).canvas->isVisible() && !at(picture).canvas->visibleRegion().isEmpty();
}

void Workspace::goToOrHide(Picture picture)
{
    CanvasWidget& shown = canvas(picture);
    if (isPictureInFront(picture) && shown.hasFocus()) {
        setPictureVisible(picture, false);
        canvas(lastUsedPicture()).setFocus();
        return;
    }
    setPictureVisible(picture, true);
    shown.setFocus(Qt::ShortcutFocusReason);
    m_lastUsed = &shown;
}

/// Its size is its own: it shares its place with no others.
bool Workspace::isBesideOthers(const Shown& shown) const
{
    return !shown.dock->isHidden() && !shown.dock->isFloating() && m_docks->tabifiedDockWidgets(shown.dock).isEmpty();
}

void Workspace::showOnly(Picture picture)
{
    setPictureVisible(picture, true);
    for (const Shown& shown : m_pictures) {
        if (shown.picture != picture)
            setPictureVisible(shown.picture, false);
    }
}

QByteArray Workspace::saveLayout() const
{
    if (!m_layoutToRestore.isEmpty())
        return m_layoutToRestore;
    QByteArray layout;
    QDataStream(&layout, QIODevice::WriteOnly) << kLayoutVersion << m_shares << m_isUsual << m_wasWide
                                               << (m_unfolded.isEmpty() ? m_docks->saveState(kLayoutVersion) : m_unfolded);
    return layout;
}

/// False: it is of a version that cannot be read.
bool Workspace::takeLayout(const QByteArray& layout)
{
    QDataStream in(layout);
    int version = 0;
    DockShares shares;
    QByteArray state;
    in >> version;
    bool isUsual = false, wasWide = width() >= kWideWorkspace;
    if (version == kLayoutVersion)
        in >> shares >> isUsual >> wasWide >> state;
    else if (version == kLayoutWithoutUsual)
        in >> shares >> state;
    else
        return false;
    if (in.status() != QDataStream::Ok || !m_docks->restoreState(state, version))
        return false;
    m_shares = shares;
    m_isUsual = isUsual; // nobody had moved a dock: in a window of another width they lie as is usual there
    m_wasWide = wasWide;
    applyShares();
    return true;
}

/// Pixels that were saved say nothing in a window of another size.
void Workspace::applyShares()
{
    if (!m_unfolded.isEmpty() || !m_layoutToRestore.isEmpty())
        return;
    const bool wasPlacing = std::exchange(m_isPlacing, true);
    m_shares.apply(*m_docks);
    m_isPlacing = wasPlacing;
    m_sharedSize = m_docks->size();
}

void Workspace::sizesChanged()
{
    if (!m_unfolded.isEmpty() || !m_layoutToRestore.isEmpty() || !isVisible())
        return;
    m_shares.measure(*m_docks);
    m_sharedSize = m_docks->size();
}

/// Docks that change their sizes while their window keeps its own have been pulled at.
bool Workspace::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize && !m_isPlacing && m_docks->size() == m_sharedSize)
        m_shareTimer.start();
    return QWidget::eventFilter(watched, event);
}

void Workspace::restoreLayout(const QByteArray& layout)
{
    m_layoutToRestore = layout;
    if (isVisible())
        restoreWhenLaidOut();
}

/// Docks come back at the sizes they had only where their window already has its own.
void Workspace::restoreWhenLaidOut()
{
    QTimer::singleShot(0, this, [this] {
        if (!isVisible() || m_layoutToRestore.isEmpty())
            return;
        m_unfolded.clear();
        letNarrow(false);
        m_isPlacing = true;
        const bool isKnown = takeLayout(std::exchange(m_layoutToRestore, {}));
        m_isPlacing = false;
        if (!isKnown)
            resetLayout();
        adapt();
        bringToFront(std::vector(m_brought)); // which the layout does not have
    });
}

/// Grid above, timeline below; the others share a place beside the grid, or behind it where there is no room.
void Workspace::arrange()
{
    QDockWidget* grid = at(Picture::grid).dock;
    QDockWidget* timeline = at(Picture::timeline).dock;
    QDockWidget* beside = nullptr;
    const bool wide = width() >= kWideWorkspace;
    m_isPlacing = true;
    m_unfolded.clear();
    letNarrow(false);
    for (const Shown& shown : m_pictures) { // what shares a place now would be left in it
        const bool wasHidden = shown.dock->isHidden();
        shown.dock->setFloating(false);
        m_docks->removeDockWidget(shown.dock);
        shown.dock->setHidden(wasHidden);
    }
    for (const Shown& shown : m_pictures) {
        if (shown.dock == timeline) {
            m_docks->addDockWidget(Qt::BottomDockWidgetArea, timeline);
            continue;
        }
        m_docks->addDockWidget(Qt::TopDockWidgetArea, shown.dock);
        if (shown.dock == grid)
            continue;
        if (beside)
            m_docks->tabifyDockWidget(beside, shown.dock);
        else if (wide)
            m_docks->splitDockWidget(grid, shown.dock, Qt::Horizontal);
        else
            m_docks->tabifyDockWidget(grid, shown.dock);
        beside = shown.dock;
    }
    if (wide && beside) {
        constexpr int kGridShare = 55, kBesideShare = 45;
        m_docks->resizeDocks({grid, beside}, {width() * kGridShare / 100, width() * kBesideShare / 100}, Qt::Horizontal);
        for (const Shown& shown : m_pictures) {
            if (shown.dock != grid && shown.dock != timeline) {
                shown.dock->raise(); // the first of them
                break;
            }
        }
    } else {
        grid->raise();
    }
    m_docks->resizeDocks({grid, timeline}, {height() / 2, height() / 2}, Qt::Vertical);
    m_isPlacing = false;
    m_shares = {};
    m_shareTimer.start(); // measured where they will lie
    m_isUsual = true;
    m_wasWide = wide;
}

/// To the room there is: pictures that have none beside each other lie behind each other, and stand as before when it is back.
void Workspace::adapt()
{
    if (!m_isArranged || !m_layoutToRestore.isEmpty())
        return;
    const QSize room = m_docks->size();
    const auto isEnough = [&](QSize needed) { return room.width() >= needed.width() && room.height() >= needed.height(); };
    if (!m_unfolded.isEmpty()) {
        if (!isEnough(m_neededUnfolded))
            return;
        m_isPlacing = true;
        std::vector<bool> hidden; // meanwhile shown or hidden: it stays so
        for (const Shown& shown : m_pictures)
            hidden.push_back(shown.dock->isHidden());
        letNarrow(false);
        m_docks->restoreState(std::exchange(m_unfolded, {}), kLayoutVersion);
        for (std::size_t i = 0; i < m_pictures.size(); ++i)
            m_pictures[i].dock->setHidden(hidden[i]);
        m_isPlacing = false;
        if (m_isUsual)
            arrange();
    } else if (m_isUsual && m_wasWide != (width() >= kWideWorkspace)) {
        arrange();
    }
    if (const QSize needed = m_docks->layout()->minimumSize(); !isEnough(needed)) {
        m_neededUnfolded = needed;
        foldPictures();
    }
}

/// All but the timeline share a place above it; where there is no room for two, it lies behind them too.
void Workspace::foldPictures()
{
    const Picture inFront = lastUsedPicture();
    m_unfolded = m_docks->saveState(kLayoutVersion);
    m_isPlacing = true;
    letNarrow(true);
    QDockWidget* const timeline = at(Picture::timeline).dock;
    QDockWidget* first = nullptr;
    for (const Shown& shown : m_pictures) {
        if (shown.dock->isFloating() || shown.dock == timeline)
            continue;
        if (first)
            m_docks->tabifyDockWidget(first, shown.dock);
        else
            first = shown.dock;
    }
    if (first && !timeline->isFloating()) {
        const bool wasHidden = timeline->isHidden();
        m_docks->addDockWidget(Qt::BottomDockWidgetArea, timeline);
        timeline->setHidden(wasHidden);
        m_docks->layout()->activate();
        const QSize needed = m_docks->layout()->minimumSize();
        if (needed.width() > m_docks->width() || needed.height() > m_docks->height())
            m_docks->tabifyDockWidget(first, timeline);
    }
    m_isPlacing = false;
    at(inFront).dock->raise();
}

/// Folded pictures are as narrow as their window is.
void Workspace::letNarrow(bool narrow)
{
    for (const Shown& shown : m_pictures)
        shown.canvas->setMinimumWidth(narrow ? kNarrowestPicture : readableWidth(shown.picture));
}

/// Tabs have a menu for what their titles' buttons did.
void Workspace::tidyTabs()
{
    tidyDockTabs(*m_docks);
    for (QTabBar* bar : m_docks->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (bar->contextMenuPolicy() == Qt::CustomContextMenu)
            continue;
        bar->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(bar, &QTabBar::customContextMenuRequested, this, [this, bar](QPoint at) { showTabMenu(*bar, at); });
    }
}

void Workspace::showTabMenu(QTabBar& bar, QPoint at)
{
    const int tab = bar.tabAt(at);
    const auto found = std::find_if(m_pictures.begin(), m_pictures.end(), [&](const Shown& shown) {
        return tab >= 0 && shown.dock->windowTitle() == bar.tabText(tab);
    });
    if (found == m_pictures.end())
        return;
    QMenu menu;
    menu.addAction(tr("Float"), this, [found] { found->dock->setFloating(true); });
    menu.addAction(tr("Hide"), this, [this, found] { setPictureVisible(found->picture, false); });
    menu.exec(bar.mapToGlobal(at));
}

void Workspace::resetLayout()
{
    for (const Shown& shown : m_pictures)
        shown.dock->setHidden(pictureInfo(shown.picture).whenAsked);
    arrange();
}

void Workspace::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (m_isArranged) {
        restoreWhenLaidOut();
        return;
    }
    m_isArranged = true;
    m_isPlacing = true;
    const bool isTaken = !m_layoutToRestore.isEmpty() && takeLayout(std::exchange(m_layoutToRestore, {}));
    m_isPlacing = false;
    if (!isTaken)
        arrange();
    adapt();
}

/// While other pages are shown, docks are squeezed: they come back as they are now.
void Workspace::hideEvent(QHideEvent* event)
{
    if (m_isArranged && !event->spontaneous() && m_layoutToRestore.isEmpty()) {
        const std::vector<Picture> brought = m_brought;
        putBack(); // what is kept is the layout of the user, who may close the window from another page
        m_layoutToRestore = saveLayout();
        m_brought = brought;
    }
    QWidget::hideEvent(event);
}

void Workspace::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    adapt();
    applyShares();
}

} // namespace app
