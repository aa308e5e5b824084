// Pictures beside each other as one view: for films.
#pragma once

#include "app/canvas/area_canvas.h"
#include "app/canvas/view.h"
#include "app/views/common/theme.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace app {

class SideBySideView final : public View {
public:
    /// They and the theme must outlive it.
    SideBySideView(std::vector<View*> parts, const Theme& theme) : m_parts(std::move(parts)), m_theme(theme) {}
    std::string title() const override { return m_parts.front()->title(); }
    void draw(Canvas& canvas) override
    {
        constexpr std::uint64_t kNodesOfPart = std::uint64_t{1} << 48;
        const Rect area = canvas.area();
        canvas.fillRect(area, m_theme.canvas);
        const float width = area.width() / static_cast<float>(m_parts.size());
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            const float left = area.left + std::round(width * static_cast<float>(i));
            AreaCanvas part(canvas,
                            {left, area.top, i + 1 == m_parts.size() ? area.right : std::round(left + width), area.bottom},
                            kNodesOfPart * i);
            drawPart(*this, *m_parts[i], part);
        }
    }

private:
    std::vector<View*> m_parts;
    const Theme& m_theme;
};

} // namespace app
