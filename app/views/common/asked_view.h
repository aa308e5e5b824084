// A picture whose numbers can be asked where they come from: by a click on one, by the key, and, as each of them is a node, from
// a screen reader. Who shows the answer is told to the view.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/because.h"

#include <optional>
#include <string>
#include <utility>

namespace app {

class AskedView : public View {
public:
    /// Who shows where a number comes from; nobody: none can be asked.
    virtual void setAskBecause(AskBecause ask) { m_ask = std::move(ask); }
    /// What can be asked at a place: a number that is written there, else what the place is of. As drawn last.
    Becauses becauseAt(Point at) const
    {
        const DrawnNumbers::Number* const number = m_numbers.at(at);
        return number != nullptr ? number->because() : becauseOf(at);
    }

protected:
    /// What a place that is no written number is of, as its tooltip tells it; of nowhere: what is in focus, else the whole.
    virtual Becauses becauseOf(std::optional<Point>) const { return {}; }
    /// A frame begins; painters write their numbers through numbers(). `views`: how many such views lie in this one, one in
    /// another.
    void beginNumbers(std::optional<Point> pointer, int views = 0) { m_numbers.begin(pointer, m_ask != nullptr, views); }
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
    /// Of a place: the number that is written there, else what the place is of.
    bool askPlace(Point at) const { return askNumber(at) || ask(becauseOf(at), {at.x, at.y, at.x + 1, at.y + 1}); }
    /// The key: of what is under the pointer, else of what is in focus, which lies at `otherwise`.
    bool askBecause(std::optional<Point> pointer, Rect otherwise) const
    {
        return (pointer && askPlace(*pointer)) ||
               ask(becauseOf(std::nullopt), {otherwise.left, otherwise.top, otherwise.left + 1, otherwise.top + 1});
    }
    /// At the end of a tooltip about something that has numbers.
    std::string askHint() const { return m_ask ? kAskKey : ""; }

private:
    AskBecause m_ask;
    DrawnNumbers m_numbers;
};

} // namespace app
