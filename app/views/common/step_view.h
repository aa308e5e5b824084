// A picture of one step: all of them are given the same step and selection, and are told of changes alike.
#pragma once

#include "app/canvas/view.h"
#include "app/step/shown_step.h"
#include "app/views/common/because.h"
#include "app/views/common/theme.h"

#include <optional>
#include <string>
#include <utility>

namespace app {

class StepView : public View {
public:
    /// Nothing in it: the empty state. The model is of the step, as the picture's `prepare` makes it (app/views/pictures.h);
    /// without one the view makes it here and now. What the user had chosen (zoom, lens, scroll) stays where it still makes
    /// sense.
    void setStep(const ShownStep& step, const PictureModelPtr& model = nullptr) { take(step, model); }
    virtual void setTheme(const Theme&) = 0;
    /// The step is played: a picture that can show a moment does from now on. True if it did not before.
    virtual bool showNow() { return false; }
    /// What stands in the empty state: how to get a step, at first; or that one is on its way.
    void setHint(std::string hint) { m_hint = std::move(hint); }

    /// Who shows where a number comes from; nobody: none can be asked.
    void setAskBecause(AskBecause ask) { m_ask = std::move(ask); }
    /// What can be asked at a place: a number that is written there, else what the place is of. As drawn last.
    Becauses becauseAt(Point at) const
    {
        const DrawnNumbers::Number* const number = m_numbers.at(at);
        return number != nullptr ? number->because() : becauseOf(at);
    }

protected:
    /// What a place that is no written number is of, as its tooltip tells it; of nowhere: what is in focus, else the whole.
    virtual Becauses becauseOf(std::optional<Point>) const { return {}; }
    /// A frame begins; painters write their numbers through numbers().
    void beginNumbers(std::optional<Point> pointer) { m_numbers.begin(pointer, m_ask != nullptr); }
    DrawnNumbers& numbers() { return m_numbers; }
    bool isNumberAt(std::optional<Point> at) const { return at && m_numbers.at(*at) != nullptr; }
    bool ask(const Becauses& because, Rect at) const
    {
        if (because.empty() || !m_ask)
            return false;
        m_ask(because, at);
        return true;
    }
    /// A click: true if it was on a written number.
    bool askNumber(Point at) const
    {
        const DrawnNumbers::Number* const number = m_numbers.at(at);
        return number != nullptr && ask(number->because(), number->rect);
    }
    /// The key: of what is under the pointer, else of what is in focus, which lies at `otherwise`.
    bool askBecause(std::optional<Point> pointer, Rect otherwise) const
    {
        if (pointer && (askNumber(*pointer) || ask(becauseOf(pointer), {pointer->x, pointer->y, pointer->x + 1, pointer->y + 1})))
            return true;
        return ask(becauseOf(std::nullopt), {otherwise.left, otherwise.top, otherwise.left + 1, otherwise.top + 1});
    }
    /// At the end of a tooltip about something that has numbers.
    std::string askHint() const { return m_ask ? kAskKey : ""; }
    virtual void take(const ShownStep&, PictureModelPtr) = 0;
    const std::string& hint() const { return m_hint; }

private:
    AskBecause m_ask;
    DrawnNumbers m_numbers;
    std::string m_hint = "Open a scenario, or choose one in the gallery.";
};

} // namespace app
