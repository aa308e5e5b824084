// What is presented before an audience: slide after slide, and so what “next” and “back” mean. A scenario tells its description;
// whoever has steps of its own (a lesson, a comparison) gives another talk.
#pragma once

#include "app/views/pictures.h"

#include <QString>

#include <memory>
#include <vector>

namespace app {

/// One thing to show.
struct Slide {
    QString heading, caption;      ///< plain text; the caption may be empty
    std::vector<Picture> pictures; ///< one, or two beside each other
};

class Talk {
public:
    virtual ~Talk() = default;
    virtual int size() const = 0; ///< at least 1
    /// Goes there: sets up what the slide is about (a selection, the time cursor) and says what is on it. 0 <= index < size().
    virtual Slide goTo(int index) = 0;
};

/// A passage of the description a slide, beside the pictures it speaks of; of a scenario without one, its pictures.
std::unique_ptr<Talk> talkOfScenario(const QString& name, const QString& description);

} // namespace app
