// A column of words and tables of the plan that is as high as it has to be and scrolls: the guide, and what does not go as
// planned.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace app {

/// Writes lines from the area's top on; returns where the next would begin. What is wider than its line is left out.
float drawWrapped(Canvas&, Rect area, std::string_view text, Color, FontFace);

class PlanPageView : public View {
public:
    void setHint(std::string title, std::string hint);
    const std::string& hintTitle() const { return m_title; }
    void setTheme(const Theme& theme) { m_theme = theme; }

    void draw(Canvas&) final;

protected:
    PlanPageView(const Theme& theme, std::string title) : m_theme(theme), m_title(std::move(title)) {}

    virtual bool hasPage() const = 0; ///< else the hint is shown
    virtual void forgetDrawn() = 0;   ///< places of what was drawn before
    /// From the area's top on, which may lie above what is seen; returns where it ends.
    virtual float drawPage(Canvas&, Rect area) = 0;

    void scrollToTop() { m_scroll = 0; }
    bool scrollByWheel(const PointerEvent&, Rect area);
    /// Whether the page has moved; nothing where the command is no movement of it.
    std::optional<bool> scrollByCommand(ViewCommand, bool fast, Rect area);

    Theme m_theme;

private:
    bool scrollBy(float pixels, Rect area);

    std::string m_title, m_hint;
    float m_scroll = 0, m_height = 0; ///< of all of it, as it was drawn last
};

} // namespace app
