// A picture of one step: all of them are given the same step and selection, and are told of changes alike.
#pragma once

#include "app/step/shown_step.h"
#include "app/views/common/asked_view.h"
#include "app/views/common/theme.h"

#include <optional>
#include <string>
#include <utility>

namespace app {

class StepView : public AskedView {
public:
    /// Nothing in it: the empty state. The model is of the step, as the picture's `prepare` makes it (app/views/pictures.h);
    /// without one the view makes it here and now. What the user had chosen (zoom, lens, scroll) stays where it still makes
    /// sense.
    void setStep(const ShownStep& step, const PictureModelPtr& model = nullptr) { take(step, model); }
    virtual void setTheme(const Theme&) = 0;
    /// The step is played: a picture that can show a moment does from now on. True if it did not before.
    virtual bool showNow() { return false; }
    /// Back to what it showed before that, if nothing was chosen since. True if that is something else.
    virtual bool leaveNow() { return false; }
    /// Which of its lenses or modes it shows, of a view that has some: by it one that left the moment tells that nothing else was
    /// chosen since.
    virtual int mode() const { return 0; }
    /// How high all of the picture is at that width, of a picture that scrolls what it has no room for: figures cut nothing.
    virtual std::optional<float> contentHeight(float width)
    {
        (void)width;
        return std::nullopt;
    }
    /// How low it may be at that width with all of it in sight; nothing: any height will do.
    virtual std::optional<float> leastHeight(float width)
    {
        (void)width;
        return std::nullopt;
    }
    /// What stands in the empty state: how to get a step, at first; or that one is on its way.
    void setHint(std::string hint) { m_hint = std::move(hint); }

protected:
    virtual void take(const ShownStep&, PictureModelPtr) = 0;
    const std::string& hint() const { return m_hint; }

private:
    std::string m_hint = "Open a scenario, or choose one in the gallery.";
};

} // namespace app
