// The strip that says how two steps are laid on each other: by their starts, by their ends, at equal length, or blended.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"
#include "app/views/compare/compared_timelines_view.h"

#include <string>

namespace app {

class CompareControls {
public:
    struct Choice {
        Alignment alignment = Alignment::start;
        bool isBlending = false;
        double blend = 0.5; ///< 0 is A, 1 is B
        bool operator==(const Choice&) const = default;
    };
    Choice choice() const { return m_choice; }
    void align(Alignment);
    void setBlend(double share); ///< and blends, where that can be
    bool isBlending() const { return m_choice.isBlending; }
    double blend() const { return m_choice.blend; }
    bool canBlend() const { return m_lengthA > 0 && m_lengthA == m_lengthB; }
    /// How many ranks their pipelines have; 0 where there is none. Only equally long ones blend.
    void setPipelines(int a, int b);

    void paint(Canvas&, const Theme&, Rect area);
    /// `held`: the button went down here. True if it looks different now.
    bool pointer(const PointerEvent&, Rect area, bool held);
    CursorShape cursor() const;
    std::string tooltip() const;

private:
    struct Place {
        Rect rect;
        int button = -1; ///< index of the choice; kSlider
    };
    std::string whatIs(int button) const;
    bool isChosen(int button) const;
    int buttonAt(Point) const;
    void choose(int button);

    Choice m_choice;
    int m_lengthA = 0, m_lengthB = 0;
    std::vector<Place> m_places; ///< as painted last
    int m_pointed = -1;
    bool m_slides = false;
};

} // namespace app
