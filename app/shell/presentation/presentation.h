// One or two pictures of the step before an audience: a window of its own over the whole screen, text that is read from the last
// row, steered by a clicker. The main window beneath stays as it is.
#pragma once

#include "app/canvas/renderer.h"
#include "app/shell/presentation/talk.h"

#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace app {

class CanvasWidget;
class Desk;
class NotesWindow;
class View;
class Workspace;

class Presentation : public QWidget {
    Q_OBJECT
public:
    /// Nothing an audience has to read is smaller, in logical pixels of a window whose text is not enlarged.
    static constexpr int kSmallestText = 24;

    /// Shows the workspace's own pictures, with their zoom, lens and selection; the workspace draws none meanwhile. All but the
    /// talk must outlive it; closed, it is deleted.
    Presentation(Desk&, Workspace&, std::unique_ptr<Talk>, Renderer, const Theme&, QWidget* parent = nullptr);
    ~Presentation() override;

    /// The window's text is as large as that: what is large already is not enlarged twice, and pictures keep their room.
    void setTextPercent(int);
    int place() const { return m_place; } ///< of the slide that is shown
    void goTo(int place);                 ///< beyond the first and the last: nothing happens
    std::vector<CanvasWidget*> canvases() const;
    QString caption() const;
    bool isBlack() const;
    bool tellsKeys() const; ///< what they do is over the pictures
    bool hasSpot() const { return m_hasSpot; }
    SlidePanel* panel() const { return m_panel; } ///< nullptr: the slide has none
    /// Words and pictures, or two pictures, that do not fit beside each other are shown one after the other.
    bool isSplit() const { return m_isSplit; }
    NotesWindow* notes() const; ///< nullptr while it is closed
    /// What only the presenter sees, with what comes next: on another screen where there is one, else a window of its own.
    void showNotes(bool);

Q_SIGNALS:
    void left(); ///< it is over

protected:
    bool event(QEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    /// One of the workspace's pictures, or the talk's own.
    struct Item {
        std::optional<Picture> picture;
        View* view = nullptr;
        bool operator==(const Item&) const = default;
    };
    Item itemOf(Picture);
    std::vector<Item> itemsOf(const Slide&);
    void show(const std::vector<Item>&);
    void toggle(Picture);
    void bringUpToDate();
    void requestFrames();
    void setBlack(bool);
    void setSpot(bool);
    void moveSpot(QPointF global);
    void fit();
    void keepRoomForCaptions();
    void tellKeys(bool);
    void placeKeys(int text);
    void turn(int by);
    int fitPanel(int text);
    int roomBelowHead(int text) const;
    bool showAsManyAsFit(int across, int text, std::size_t alone = 0);
    void tellNotes();
    void askForNotes();
    void askRoom();

    Desk& m_desk;
    Workspace& m_workspace;
    const std::unique_ptr<Talk> m_talk;
    const Renderer m_renderer;
    int m_place = -1;
    int m_smallestText = kSmallestText;
    Slide m_slide; ///< that is shown
    SlidePanel* m_panel = nullptr;
    QPointer<NotesWindow> m_notes;
    struct Shown {
        Item item;
        CanvasWidget* canvas = nullptr;
    };
    std::vector<Shown> m_shown;
    QLabel *m_heading, *m_count, *m_caption;
    QHBoxLayout* m_row;
    QWidget* m_black;
    QLabel* m_keys;
    QWidget* m_spot;
    bool m_hasSpot = false, m_isSplit = false, m_isAtPictures = false;
    /// A picture of the window that showed the moment, and shows it again when this is over: unless a slide or another scenario
    /// has brought another mode.
    struct LeftNow {
        Picture picture{};
        int mode = 0; ///< that it went back to
    };
    std::vector<LeftNow> m_leftNow;
};

} // namespace app
