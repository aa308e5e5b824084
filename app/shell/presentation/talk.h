// What is presented before an audience: slide after slide, and so what “next” and “back” mean. A scenario tells its description;
// whoever has steps of its own (a lesson, a comparison) gives another talk.
#pragma once

#include "app/canvas/view.h"
#include "app/views/pictures.h"

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

namespace app {

/// What stands beside the pictures of a slide.
class SlidePanel : public QWidget {
public:
    using QWidget::QWidget;
    /// Of running text, in logical pixels.
    virtual void setTextPixels(int) = 0;
    /// With that text, in so wide a panel.
    virtual int neededHeight(int width) const = 0;
};

/// One thing to show.
struct Slide {
    QString heading, caption;                                ///< plain text; the caption may be empty
    std::vector<Picture> pictures;                           ///< one, or two beside each other; none where a panel stands alone
    View* own = nullptr;                                     ///< the talk's, in place of pictures
    QString notes = {};                                      ///< Markdown, for who presents
    bool hidesQuantities = false;                            ///< in the pictures: they are asked for
    std::function<SlidePanel*(QWidget* parent)> beside = {}; ///< makes the panel; none: there is none
};

class Talk {
public:
    virtual ~Talk() = default;
    virtual int size() const = 0; ///< at least 1
    /// Goes there: sets up what the slide is about (a selection, the time cursor) and says what is on it. 0 <= index < size().
    virtual Slide goTo(int index) = 0;
    /// All that may stand below the pictures: they keep their size from slide to slide, and so what is in them its place. Empty:
    /// of this talk that is not asked.
    virtual QStringList captions() const { return {}; }
    /// What comes after it, in a line for who presents; empty at the end.
    virtual QString upNext(int /*index*/) const { return {}; }
    /// Opens what asks the room about the slide; `changed` is called when the slide is another one by that. `textPixels`: how
    /// large its words are. False: there is nothing to ask.
    virtual bool askRoom(int /*index*/, QWidget* /*parent*/, int /*textPixels*/, std::function<void()> /*changed*/)
    {
        return false;
    }
};

/// A passage of the description a slide, beside the pictures it speaks of; of a scenario without one, its pictures.
std::unique_ptr<Talk> talkOfScenario(const QString& name, const QString& description);

} // namespace app
