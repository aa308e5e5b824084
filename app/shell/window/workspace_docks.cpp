// Where the pictures lie in the workspace: shown and hidden, in front, beside each other or as tabs, kept and restored.
#include "app/shell/widgets/dock_tabs.h"
#include "app/shell/widgets/kept_focus.h"
#include "app/shell/window/workspace.h"

#include <QCursor>
#include <QDataStream>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <QTabBar>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kNarrowestPicture = 160;
constexpr auto kUsualLayout = "usual"; ///< of no version: it stands for that
constexpr auto kApart = "apart";       ///< property of the docks: their state with each in a place of its own
constexpr int kLayoutVersion = 3;
constexpr int kLayoutWithoutUsual = 2; ///< it did not say whether docks lie as is usual
/// From this width on, the pictures beside the grid have a place of their own.
constexpr int kWideWorkspace = 1220;
/// Lower a picture that comes back can hardly be read.
constexpr int kReadableHeight = 220;

} // namespace

int Workspace::readableWidth(Picture picture)
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

void Workspace::bringToFront(const std::vector<Picture>& wanted)
{
    for (auto picture = wanted.rbegin(); picture != wanted.rend(); ++picture) {
        const bool wasBrought = std::find(m_brought.begin(), m_brought.end(), *picture) != m_brought.end();
        const bool isBrought = wasBrought || !isPictureVisible(*picture);
        setPictureVisible(*picture, true);
        if (isBrought)
            m_brought.push_back(*picture);
    }
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), lastUsedPicture()) == wanted.end())
        m_lastUsed = &canvas(wanted.front()); // that is looked at now
}

void Workspace::putBack()
{
    for (const Picture picture : std::exchange(m_brought, {}))
        setPictureVisible(picture, false);
}

void Workspace::letBeSeen()
{
    for (const Shown& shown : m_pictures) {
        const bool isInFront = m_isArranged ? std::find(m_seen.begin(), m_seen.end(), shown.picture) != m_seen.end()
                                            : shown.picture == Picture::grid || shown.picture == Picture::timeline ||
                                                  shown.picture == Picture::memory;
        if (isInFront)
            m_desk.setSeen(placeOf(shown), true);
    }
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
    if (!visible)
        uncover(changed);
    const bool comesBack = visible && changed.dock->isHidden();
    const std::vector<Picture> before = inFront();
    changed.dock->setVisible(visible);
    if (comesBack)
        giveRoom(changed);
    if (visible)
        app::bringForward(*changed.dock);
    if (comesBack)
        changed.covered = coveredBy(changed, before);
    if (comesBack && changed.before.isValid() && isBesideOthers(changed)) {
        m_docks->resizeDocks({changed.dock}, {std::max(changed.before.width(), readableWidth(picture))}, Qt::Horizontal);
        const int high = std::max(changed.before.height(), kReadableHeight);
        const auto area = m_docks->dockWidgetArea(changed.dock);
        const auto faces = [&](const Shown& shown) {
            return !shown.dock->isHidden() && !shown.dock->isFloating() && m_docks->dockWidgetArea(shown.dock) != area;
        };
        const auto facing = std::find_if(m_pictures.begin(), m_pictures.end(), faces);
        if (facing != m_pictures.end()) // both are told: where one is, each gives in by half
            m_docks->resizeDocks({changed.dock, facing->dock}, {high, std::max(1, m_docks->height() - high)}, Qt::Vertical);
        else
            m_docks->resizeDocks({changed.dock}, {high}, Qt::Vertical);
    }
    const auto isHidden = [](const Shown& shown) { return shown.dock->isHidden(); };
    if (std::all_of(m_pictures.begin(), m_pictures.end(), isHidden)) { // one of them is always there
        const Picture other = picture == Picture::timeline ? Picture::grid : Picture::timeline;
        at(other).dock->show();
    }
}

/// Of those that were in front, the one that shares its place.
std::optional<Picture> Workspace::coveredBy(const Shown& shown, const std::vector<Picture>& before) const
{
    const QList<QDockWidget*> sharing = m_docks->tabifiedDockWidgets(shown.dock);
    const auto covered =
        std::find_if(before.begin(), before.end(), [&](Picture picture) { return sharing.contains(at(picture).dock); });
    return covered == before.end() ? std::nullopt : std::optional(*covered);
}

/// It leaves: what it came to stand in front of is seen again, not whichever tab lies beside it.
void Workspace::uncover(Shown& leaving)
{
    const auto covered = std::exchange(leaving.covered, std::nullopt);
    if (covered && isPictureInFront(leaving.picture) && m_docks->tabifiedDockWidgets(leaving.dock).contains(at(*covered).dock) &&
        !at(*covered).dock->isHidden())
        app::bringForward(*at(*covered).dock);
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
        tidySoon();
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
    if (isPictureInFront(picture) && shown.hasFocus() && shown.hasFocusRing()) {
        setPictureVisible(picture, false);
        canvas(lastUsedPicture()).setFocus();
        return;
    }
    setPictureVisible(picture, true);
    if (at(picture).dock->isFloating())
        at(picture).dock->activateWindow(); // a window of its own
    shown.setFocus(Qt::ShortcutFocusReason);
    shown.setFocusRing(shown.hasFocus()); // it may have had the keyboard with nobody seeing it
    m_pointerAtKey = QCursor::pos();
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

void Workspace::setLayoutAside()
{
    if (m_layoutAside)
        return;
    const QByteArray own = m_isArranged ? layoutNow() : m_layoutToRestore;
    m_layoutAside = own.isEmpty() ? QByteArray(kUsualLayout) : own;
    restoreLayout(kUsualLayout);
}

void Workspace::takeLayoutBack()
{
    if (!m_layoutAside)
        return;
    m_brought.clear(); // it knows itself what is hidden
    restoreLayout(*std::exchange(m_layoutAside, std::nullopt));
}

QByteArray Workspace::saveLayout() const
{
    return m_layoutAside ? *m_layoutAside : layoutNow();
}

QByteArray Workspace::layoutNow() const
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
    if (m_adaptsSoon) // they are as the window has just left them
        return m_shareTimer.start();
    m_shares.measure(*m_docks);
    m_sharedSize = m_docks->size();
}

/// Docks that change their sizes while their window keeps its own have been pulled at; one that is closed by its own button is
/// as large again when it comes back as one that a command has hidden.
bool Workspace::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Close) {
        const auto closed = std::find_if(m_pictures.begin(), m_pictures.end(), [&](const Shown& s) { return s.dock == watched; });
        if (closed != m_pictures.end() && isBesideOthers(*closed))
            closed->before = closed->dock->size();
        else if (closed != m_pictures.end())
            uncover(*closed);
    }
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
        const KeptFocus focus(*window());
        m_unfolded.clear();
        letNarrow(false);
        m_isPlacing = true;
        const bool isKnown = takeLayout(std::exchange(m_layoutToRestore, {}));
        m_isPlacing = false;
        if (!isKnown)
            resetLayout();
        adapt();
        adaptSoon();                          // bars of tabs that have come back do not count yet
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
    const auto isTab = [this](const Shown& shown) { return !m_docks->tabifiedDockWidgets(shown.dock).isEmpty(); };
    if (std::any_of(m_pictures.begin(), m_pictures.end(), isTab)) { // or places without docks are left, with bars of tabs
        std::vector<bool> hidden;
        for (const Shown& shown : m_pictures)
            hidden.push_back(shown.dock->isHidden());
        m_docks->restoreState(m_docks->property(kApart).toByteArray(), kLayoutVersion);
        for (std::size_t i = 0; i < m_pictures.size(); ++i)
            m_pictures[i].dock->setHidden(hidden[i]);
    }
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
                app::bringForward(*shown.dock); // the first of them
                break;
            }
        }
    } else {
        app::bringForward(*grid);
    }
    m_docks->resizeDocks({grid, timeline}, {height() / 2, height() / 2}, Qt::Vertical);
    m_isPlacing = false;
    m_shares = {};
    if (m_docks->isVisible()) { // at once: before the next turn the window may be of another size
        m_docks->layout()->activate();
        m_shares.measure(*m_docks);
        m_sharedSize = m_docks->size();
    } else {
        m_shareTimer.start(); // measured where they will lie
    }
    m_isUsual = true;
    m_wasWide = wide;
}

/// To the room there is: pictures that have none beside each other lie behind each other, and stand as before when it is back.
void Workspace::adapt()
{
    if (!m_isArranged || !m_layoutToRestore.isEmpty())
        return;
    const KeptFocus focus(*window());
    const QSize room = m_docks->size();
    const auto isEnough = [&](QSize needed) { return room.width() >= needed.width() && room.height() >= needed.height(); };
    const bool isWide = width() >= kWideWorkspace;
    const std::vector<Picture> before = inFront();
    if (m_unfolded.isEmpty() && m_wasWide)
        m_frontWide = before;
    if (!m_unfolded.isEmpty()) {
        if (!isEnough(m_neededUnfolded))
            return placeFoldedTimeline(); // there may have been more room than now, or less
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
        keepInFront(before, isWide);
    } else if (m_isUsual && m_wasWide != isWide) {
        arrange();
        keepInFront(before, isWide);
    }
    if (const QSize needed = m_docks->layout()->minimumSize(); !isEnough(needed)) {
        m_neededUnfolded = needed;
        foldPictures();
    }
}

std::vector<Picture> Workspace::inFront() const
{
    std::vector<Picture> out;
    for (const Shown& shown : m_pictures)
        if (isPictureInFront(shown.picture))
            out.push_back(shown.picture);
    return out;
}

/// Who looks at a picture goes on looking at it, wherever it lies now; beside it what lay there before.
void Workspace::keepInFront(const std::vector<Picture>& before, bool isWide)
{
    if (isWide)
        for (const Picture picture : m_frontWide)
            if (!at(picture).dock->isHidden())
                app::bringForward(*at(picture).dock);
    bringForward(before);
}

/// Of two that lay beside each other and share a place now, the one that was used last; else the first.
void Workspace::bringForward(const std::vector<Picture>& before)
{
    for (auto picture = before.rbegin(); picture != before.rend(); ++picture)
        if (*picture != Picture::timeline && !at(*picture).dock->isFloating() && !at(*picture).dock->isHidden())
            app::bringForward(*at(*picture).dock);
    const Picture used = lastUsedPicture();
    if (before.empty() || std::find(before.begin(), before.end(), used) != before.end())
        app::bringForward(*at(used).dock);
}

/// All but the timeline share a place above it; where there is no room for two, it lies behind them too.
void Workspace::foldPictures()
{
    const std::vector<Picture> before = inFront();
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
    }
    m_isPlacing = false;
    bringForward(before);
    placeFoldedTimeline();
}

/// Below the others that share a place while there is room for both, else behind them: the one of these that is in front stays
/// there, unless the timeline is what is used.
void Workspace::placeFoldedTimeline()
{
    QDockWidget* const timeline = at(Picture::timeline).dock;
    const auto other = std::find_if(m_pictures.begin(), m_pictures.end(), [timeline](const Shown& shown) {
        return shown.dock != timeline && !shown.dock->isFloating() && !shown.dock->isHidden();
    });
    if (timeline->isFloating() || timeline->isHidden() || other == m_pictures.end())
        return;
    const bool isBehind = m_docks->tabifiedDockWidgets(timeline).contains(other->dock);
    if (isBehind && m_docks->height() < m_neededBelow)
        return;
    const std::vector<Picture> before = inFront();
    m_isPlacing = true;
    if (isBehind) {
        m_docks->removeDockWidget(timeline); // what was a tab would stay one
        m_docks->addDockWidget(Qt::BottomDockWidgetArea, timeline);
        timeline->show();
    }
    m_docks->layout()->activate();
    const int needed = m_docks->layout()->minimumSize().height();
    const bool fits = m_docks->height() >= needed;
    if (!fits) {
        m_neededBelow = needed;
        m_docks->tabifyDockWidget(other->dock, timeline);
    }
    m_isPlacing = false;
    if (isBehind && fits)
        bringForward(m_frontAbove); // what it was below; then what is looked at now
    if (isBehind || !fits) {
        bringForward(before);
        tidySoon();
    }
    if (!isBehind && !fits)
        m_frontAbove = before;
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
    const KeptFocus focus(*window());
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
    m_docks->setProperty(kApart, m_docks->saveState(kLayoutVersion));
    m_isPlacing = true;
    const bool isTaken = !m_layoutToRestore.isEmpty() && takeLayout(std::exchange(m_layoutToRestore, {}));
    m_isPlacing = false;
    if (!isTaken)
        arrange();
    m_docks->show();
    layout()->activate();
    adapt();
}

/// While other pages are shown, docks are squeezed: they come back as they are now.
void Workspace::hideEvent(QHideEvent* event)
{
    if (m_isArranged && !event->spontaneous() && m_layoutToRestore.isEmpty()) {
        m_seen = inFront();
        const std::vector<Picture> brought = m_brought;
        putBack(); // what is kept is the layout of the user, who may close the window from another page
        m_layoutToRestore = layoutNow();
        m_brought = brought;
    }
    QWidget::hideEvent(event);
}

void Workspace::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    adaptSoon();
}

/// In a turn of its own: whoever gives the workspace its size is laying docks out just now, and what is arranged anew under its
/// hands loses tabs, or worse. Before anything is drawn: events that are posted come before those that draw.
void Workspace::adaptSoon()
{
    if (std::exchange(m_adaptsSoon, true))
        return;
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_adaptsSoon = false;
            if (!isVisible())
                return;
            layout()->activate(); // the docks have their room
            adapt();
            applyShares();
        },
        Qt::QueuedConnection);
}

void Workspace::tidySoon()
{
    if (std::exchange(m_tidiesSoon, true))
        return;
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_tidiesSoon = false;
            tidyTabs();
        },
        Qt::QueuedConnection);
}

} // namespace app
