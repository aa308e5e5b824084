// The pictures of the step on the desk, each a dock that can be moved, stacked, floated and hidden; below them the bar that plays
// the step. The list of pictures is that of app/views/pictures.h.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/desk.h"
#include "app/shell/widgets/dock_shares.h"
#include "app/shell/window/order_editor_panel.h"
#include "app/views/pictures.h"
#include "sim/analysis/explain/explain.h"

#include <QPoint>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

class QDockWidget;
class QMainWindow;
class QTabBar;

namespace app {

class TimelineView;
class MaskNote;
class TransportBar;

class Workspace : public QWidget {
    Q_OBJECT
public:
    /// The desk prepares the pictures of app/views/pictures.h, in that order.
    explicit Workspace(Desk&, Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~Workspace() override;

    /// The timeline tells the schedule action by action.
    void setStepping(bool);
    bool isStepping() const;
    void showNow(); ///< pictures that can show the moment at the time cursor do
    /// They go back to what they showed before, unless the step plays or something else was chosen; which of them did.
    std::vector<Picture> leaveNow();
    /// The order editor takes the timeline's place.
    void startEditing(OrderDraft);
    void stopEditing();
    bool isEditing() const;
    OrderEditorPanel& editor() const { return *m_editor; }
    void setTheme(const Theme&, const QString& assets);
    /// Another window shows the pictures: here nothing is drawn, and nobody is asked where a number comes from.
    void setCovered(bool);
    /// Quantities in the pictures are not told, nor where they come from: somebody is asked about them.
    void setMasked(bool);
    /// Nor how long the step is, below them.
    void setTimesMasked(bool);
    /// Words in place of all pictures; empty: the pictures.
    void setNote(const QString&);
    /// Words in place of all but these; of none named: all are seen.
    void setOnly(std::vector<Picture>, const QString& why);
    /// The axes of the memory picture reach at least there.
    void setLeastMemory(std::int64_t bytes);
    /// Shown, and in front of those they share a place with; the first of two that share one.
    void bringToFront(const std::vector<Picture>&);
    std::vector<Picture> inFront() const;
    /// It is shown in a moment: what will be seen of a step is prepared with it.
    void letBeSeen();
    /// Hides again what was hidden before it was brought to front, unless somebody has shown it since.
    void putBack();

    /// Lights all spans of that name and shows the first; how many there are.
    std::size_t findSpans(const QString& text);
    void selectSpan(SpanRef); ///< and shows it on the timeline
    /// What the pointer is over, else the dragged time range, in a line; empty for nothing.
    QString pointedText() const;

    TransportBar& transport() const { return *m_transport; }

    /// Goes to the picture that a key went to, until the pointer moves; else to the one under the pointer, else to the one with
    /// the focus, else to the one used last.
    bool runCommand(ViewCommand, bool fast); ///< false: it changed nothing
    void setPictureVisible(Picture, bool);   ///< shown: in front of those it shares its place with
    bool isPictureVisible(Picture) const;    ///< perhaps behind another tab
    bool isPictureInFront(Picture) const;
    void goToOrHide(Picture); ///< gives it the focus; hides it if it has that already
    void showOnly(Picture);
    CanvasWidget& canvas(Picture picture) const { return *at(picture).canvas; }
    StepView& view(Picture picture) { return *at(picture).view; }
    StepView& upToDateView(Picture); ///< knows the step even if nobody sees it
    Picture lastUsedPicture() const; ///< of those that are shown
    Picture pictureInHand() const;   ///< likewise, or what a click on a tab laid before it since
    TimelineView& timeline();

    /// Pictures lie as is usual until the user's own layout is taken back.
    void setLayoutAside();
    void takeLayoutBack();

    QByteArray saveLayout() const;         ///< the user's own, also while it is set aside
    void restoreLayout(const QByteArray&); ///< of another version, or nothing: the usual one
    void resetLayout();                    ///< shows all but those that wait to be asked for

Q_SIGNALS:
    void picturesChanged(); ///< shown or hidden
    void showRequested(const sim::ShowHint&);
    void steppingLeft(); ///< by its button or by Esc
    void cleared();      ///< by Esc

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Shown {
        Picture picture{};
        std::unique_ptr<StepView> view;
        CanvasWidget* canvas = nullptr;
        QDockWidget* dock = nullptr;
        MaskNote* note = nullptr;       ///< over it alone: it may be a window of its own
        bool isStale = false;           ///< has not been given the step: nobody sees it
        QSize before;                   ///< of the dock when it was hidden
        std::optional<Picture> covered; ///< which was in front where this one was shown
    };
    void addPicture(const PictureInfo&, Renderer);
    void answerBecause(Shown&);
    void letAsk();
    void maskCanvases();
    void showNotes();
    bool isSeen(const Shown&) const;
    std::size_t placeOf(const Shown&) const;
    const Shown& at(Picture) const;
    Shown& at(Picture picture) { return const_cast<Shown&>(std::as_const(*this).at(picture)); }
    void arrange();
    void adaptSoon();
    void adapt();
    void tidySoon();
    void keepInFront(const std::vector<Picture>& before, bool isWide);
    void bringForward(const std::vector<Picture>& before);
    void foldPictures();
    void placeFoldedTimeline();
    void letNarrow(bool);
    void giveRoom(Shown& newcomer);
    std::optional<Picture> coveredBy(const Shown&, const std::vector<Picture>& before) const;
    void uncover(Shown& leaving);
    /// Pixels; narrower a picture is not read: names run into numbers, bars are lines, ranks have no numbers.
    static int readableWidth(Picture);
    bool isBesideOthers(const Shown&) const;
    void restoreWhenLaidOut();
    QByteArray layoutNow() const;
    bool takeLayout(const QByteArray&);
    void applyShares();
    void sizesChanged();
    void tidyTabs();
    void showTabMenu(QTabBar&, QPoint at);
    bool isWanted(const Shown&) const;
    void bringUpToDate(Shown&);
    void stepChanged();
    void showWaiting();
    void requestFrames(const CanvasWidget* except = nullptr);
    void selectionMayHaveChanged(CanvasWidget& by);
    void selectionChanged();
    CanvasWidget& commandTarget() const;

    Desk& m_desk;
    std::vector<Shown> m_pictures; ///< in the list's order, which is the desk's; never changes
    QMainWindow* m_docks;          ///< holds nothing but docks
    TransportBar* m_transport;
    MaskNote* m_note = nullptr; ///< in place of the pictures
    QWidget* m_timelinePlace;   ///< the timeline, or the order editor in its place
    OrderEditorPanel* m_editor;
    CanvasWidget* m_lastUsed = nullptr;
    std::optional<QPoint> m_pointerAtKey;     ///< where it lay when a key went to a picture: until it moves, that has the keys
    const CanvasWidget* m_changing = nullptr; ///< what changes the selection just now, and draws itself anyway
    DockShares m_shares;                      ///< of the unfolded docks, as the user left them
    QSize m_sharedSize;                       ///< they were measured in, or applied to
    QTimer m_shareTimer;                      ///< docks have changed their sizes between themselves: measured when all have
    QByteArray m_layoutToRestore;
    std::optional<QByteArray> m_layoutAside;
    QByteArray m_unfolded;             ///< the docks as they were before they had too little room; empty while they have enough
    QSize m_neededUnfolded;            ///< for that
    int m_neededBelow = 0;             ///< pixels of height for a folded timeline below the others, when there were too few
    std::vector<Picture> m_frontAbove; ///< in front when it was put behind them
    std::vector<Picture> m_frontWide;  ///< in front when there was room for all, before there was not
    bool m_isUsual = false;            ///< nobody has moved a dock since they were arranged
    bool m_wasWide = false;            ///< when that was
    bool m_isPlacing = false;
    bool m_adaptsSoon = false, m_tidiesSoon = false; ///< in the next turn
    bool m_isMasked = false, m_isCovered = false, m_hasNote = false;
    std::vector<Picture> m_only; ///< that are seen; empty: all
    QString m_whyOnly;
    std::vector<Picture> m_brought; ///< to front, hidden before
    std::vector<Picture> m_seen;    ///< in front, as it was left
    bool m_isArranged = false;
    bool m_timelineWanted = true; ///< when nothing is edited
};

} // namespace app
