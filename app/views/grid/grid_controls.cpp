#include "app/views/grid/grid_controls.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/grid/grid_caption.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kChipHeight = 20, kChipPadding = 8, kGap = 4, kSectionGap = 12;
constexpr float kDropReach = 24; ///< pixels above and below the line

class ControlsPainter {
public:
    ControlsPainter(Canvas& canvas, const GridFrame& frame, const Theme& theme, const sim::Simulation& simulation,
                    const GridChoices& choices, const ControlsState& state)
        : m_canvas(canvas), m_frame(frame), m_theme(theme), m_simulation(simulation), m_choices(choices), m_state(state)
    {
    }

    GridControls paint()
    {
        if (m_frame.lenses.height() > 0)
            lenses();
        if (m_frame.caption.height() > 0)
            caption();
        if (m_canvas.wantsNodes())
            for (std::size_t i = 0; i < m_controls.chips.size(); ++i) {
                const GridChip& chip = m_controls.chips[i];
                m_canvas.node({.id = (std::uint64_t{5} << 32U) + i,
                               .role = roleOf(chip.kind),
                               .name = chip.name,
                               .rect = chip.rect,
                               .selected = chip.chosen});
            }
        return std::move(m_controls);
    }

private:
    static const char* roleOf(GridChip::Kind kind)
    {
        const bool isChoice = kind == GridChip::Kind::lens || kind == GridChip::Kind::arrangement;
        return isChoice ? "choice" : kind == GridChip::Kind::axis ? "chip" : "button";
    }

    float widthOf(const std::string& text) { return std::ceil(m_canvas.textWidth(text, FontFace::small)) + 2 * kChipPadding; }

    Rect lineRect(Rect line, float left, float width) const
    {
        const float top = std::floor((line.top + line.bottom - kChipHeight) / 2);
        return {left, top, left + width, top + kChipHeight};
    }

    void draw(const GridChip& chip)
    {
        const bool hovered =
            m_state.hovered != nullptr && m_state.hovered->kind == chip.kind && m_state.hovered->index == chip.index;
        const Color plain = mix(m_theme.canvas, m_theme.text, hovered ? 0.12F : 0.05F);
        // The lens is the loudest choice; how the cells lie is told more quietly.
        const bool loud = chip.kind == GridChip::Kind::lens || chip.kind == GridChip::Kind::nextLens;
        const Color fill = !chip.chosen ? plain : loud ? m_theme.accent : mix(m_theme.canvas, m_theme.accent, 0.16F);
        m_canvas.fillRect(chip.rect, fill);
        m_canvas.strokeRect(chip.rect, chip.chosen ? m_theme.accent : m_theme.border);
        textInside(m_canvas, {chip.rect.left + kChipPadding, chip.rect.top, chip.rect.right, chip.rect.bottom}, chip.text,
                   chip.chosen ? readableOn(fill) : m_theme.text, FontFace::small);
    }

    float add(GridChip chip, Rect line, float left)
    {
        chip.rect = lineRect(line, left, widthOf(chip.text));
        draw(chip);
        m_controls.chips.push_back(chip);
        return chip.rect.right;
    }

    /// All of them side by side, or the one in use that leads to the next.
    void lenses()
    {
        const Rect line = m_frame.lenses;
        if (m_state.onlyTold) {
            textInside(m_canvas, line, gridLensName(m_choices.lens), m_theme.text, FontFace::bold);
            return;
        }
        const float room = line.width() - meaningWidth(m_frame) - kSectionGap;
        float needed = 0;
        for (int i = 0; i < kGridLensCount; ++i)
            needed += widthOf(gridLensName(static_cast<GridLens>(i))) - 1;
        const auto current = static_cast<int>(m_choices.lens);
        const auto tipOf = [](int i) {
            return std::string(gridLensName(static_cast<GridLens>(i))) + " (" + std::to_string(i + 1) + ")\n" +
                   gridLensMeaning(static_cast<GridLens>(i));
        };
        if (needed <= room) {
            float left = line.left;
            for (int i = 0; i < kGridLensCount; ++i) {
                const std::string name = gridLensName(static_cast<GridLens>(i));
                left = add({.kind = GridChip::Kind::lens,
                            .index = i,
                            .text = name,
                            .name = "lens " + name,
                            .tip = tipOf(i),
                            .chosen = i == current},
                           line, left) -
                       1; // neighbours share an edge
            }
            return;
        }
        const std::string name = gridLensName(m_choices.lens);
        const std::string text =
            fitting(m_canvas, {"Lens: " + name + " ›", name + " ›"}, room - 2 * kChipPadding, FontFace::small);
        if (!text.empty())
            add({.kind = GridChip::Kind::nextLens,
                 .index = current,
                 .text = text,
                 .name = "lens " + name + ", next lens",
                 .tip = tipOf(current) + "\nClick: the next; Shift: the one before",
                 .chosen = true},
                line, line.left);
    }

    std::string axisText(const AxisSeat& seat) const
    {
        const sim::RankGrid& grid = m_simulation.mesh().dense();
        const int axis = grid.axisIndex(seat.axis);
        return m_choices.known.wordOf(seat.axis) + " " + countText(axis >= 0 ? grid.axis(axis).size : 1);
    }

    /// A line of its own where nobody knows what the axis is for.
    std::string whyUnnamed(const AxisSeat& seat) const
    {
        const KnownGrid& known = m_choices.known;
        return known.wordOf(seat.axis) == seat.axis ? std::string() : "\n" + known.whyUnnamed;
    }

    static const char* titleOf(AxisPlace place)
    {
        return place == AxisPlace::columns ? "Columns" : place == AxisPlace::rows ? "Rows" : "Boxes";
    }
    static constexpr std::array kPlaces{AxisPlace::columns, AxisPlace::rows, AxisPlace::boxes};

    float axesWidth()
    {
        float width = widthOf("Auto");
        for (const AxisPlace place : kPlaces) {
            width += m_canvas.textWidth(titleOf(place), FontFace::small) + kGap + kSectionGap;
            int count = 0;
            for (const AxisSeat& seat : m_choices.seats)
                if (seat.place == place) {
                    width += widthOf(axisText(seat)) + kGap;
                    ++count;
                }
            width += count == 0 ? kEmptyPlace + kGap : 0;
        }
        return width;
    }

    void caption()
    {
        const Rect line = m_frame.caption;
        const std::vector<std::string> world = worldTexts(m_simulation, m_choices.known);
        const bool canChoose = !m_state.onlyTold && m_frame.lenses.height() > 0;
        const float switchWidth = widthOf("Logical") + widthOf("Physical") - 1;
        const bool hasAxes = !m_choices.physical && !m_choices.seats.empty();
        const float besideAxes = m_choices.known.areNodesKnown ? kSectionGap + switchWidth : 0; // no nodes: nothing to switch to
        const float axes = hasAxes ? axesWidth() + besideAxes : 0;
        const float shortest = m_canvas.textWidth(world.back(), FontFace::bold) + kSectionGap;
        const bool withSwitch = canChoose && m_choices.known.areNodesKnown && line.width() >= shortest + switchWidth;
        const bool withAxes = canChoose && hasAxes && line.width() >= shortest + axes;
        float left = line.right;
        if (withSwitch) {
            left -= switchWidth;
            const float middle = add({.kind = GridChip::Kind::arrangement,
                                      .index = 0,
                                      .text = "Logical",
                                      .name = "arranged by axes",
                                      .tip = "Logical (H)\nBy the axes of the mesh",
                                      .chosen = !m_choices.physical},
                                     line, left);
            add({.kind = GridChip::Kind::arrangement,
                 .index = 1,
                 .text = "Physical",
                 .name = "arranged as the hardware lies",
                 .tip = "Physical (H)\nAs the hardware lies: nodes, rails, NVLink domains",
                 .chosen = m_choices.physical},
                line, middle - 1);
        }
        if (withAxes) {
            left = line.right - axes;
            axisChips(line, left);
        }
        const Rect room{line.left, line.top, left - (left < line.right ? kSectionGap : 0), line.bottom};
        textInside(m_canvas, room, fitting(m_canvas, world, room.width(), FontFace::bold), m_theme.text, FontFace::bold);
    }

    void axisChips(Rect line, float x)
    {
        for (const AxisPlace place : kPlaces) {
            const float begin = x;
            const std::string title = titleOf(place);
            const float titleWidth = m_canvas.textWidth(title, FontFace::small);
            textInside(m_canvas, {x, line.top, x + titleWidth + 1, line.bottom}, title, m_theme.mutedText, FontFace::small);
            x += titleWidth + kGap;
            int inside = 0;
            const auto dropMark = [&] {
                if (m_state.drop && *m_state.drop == GridControls::Drop{place, inside})
                    m_canvas.fillRect({x - 3, line.top + 1, x - 1, line.bottom - 1}, m_theme.accent);
            };
            for (std::size_t i = 0; i < m_choices.seats.size(); ++i) {
                const AxisSeat& seat = m_choices.seats[i];
                if (seat.place != place)
                    continue;
                if (seat.axis != m_state.dragged) {
                    dropMark();
                    ++inside;
                }
                x = add({.kind = GridChip::Kind::axis,
                         .index = static_cast<int>(i),
                         .place = seat.place,
                         .axis = seat.axis,
                         .text = axisText(seat),
                         .name = "axis " + axisText(seat) + ", " + axisPlaceName(place) + ", " + std::to_string(inside) +
                                 " from inside",
                         .tip = axisText(seat) + " on " + axisPlaceName(place) + whyUnnamed(seat) +
                                "\nDrag it, or click: the next place; Shift and click: one step outwards"},
                        line, x) +
                    kGap;
            }
            dropMark();
            if (inside == 0 && x == begin + titleWidth + kGap) {
                m_canvas.strokeRect(lineRect(line, x, kEmptyPlace), m_theme.border, 1, LineStyle::dotted);
                x += kEmptyPlace + kGap;
            }
            m_controls.places[static_cast<std::size_t>(place)] = {begin, line.top, x, line.bottom};
            x += kSectionGap;
        }
        add({.kind = GridChip::Kind::automatic,
             .text = "Auto",
             .name = "automatic arrangement",
             .tip = "The arrangement with the largest cells",
             .chosen = m_choices.automatic},
            line, x);
        if (!m_state.dragged.empty()) {
            const auto seat = std::find_if(m_choices.seats.begin(), m_choices.seats.end(),
                                           [&](const AxisSeat& s) { return s.axis == m_state.dragged; });
            if (seat != m_choices.seats.end()) {
                GridChip ghost{.text = axisText(*seat), .chosen = true};
                const float width = widthOf(ghost.text);
                const Rect area = m_canvas.area();
                const float from =
                    std::clamp(std::floor(m_state.at.x - width / 2), area.left, std::max(area.left, area.right - width));
                const float top = std::clamp(std::floor(m_state.at.y - kChipHeight / 2), area.top,
                                             std::max(area.top, area.bottom - kChipHeight));
                ghost.rect = {from, top, from + width, top + kChipHeight};
                draw(ghost);
            }
        }
    }

    static constexpr float kEmptyPlace = 22;

    Canvas& m_canvas;
    const GridFrame& m_frame;
    const Theme& m_theme;
    const sim::Simulation& m_simulation;
    const GridChoices& m_choices;
    const ControlsState& m_state;
    GridControls m_controls;
};

} // namespace

const GridChip* GridControls::at(Point p) const
{
    const auto found = std::find_if(chips.begin(), chips.end(), [p](const GridChip& chip) { return chip.rect.contains(p); });
    return found == chips.end() ? nullptr : &*found;
}

std::optional<GridControls::Drop> GridControls::dropAt(Point p, const std::string& axis) const
{
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Rect place = places[i];
        if (place.width() <= 0 || p.x < place.left - kSectionGap / 2 || p.x >= place.right + kSectionGap / 2 ||
            p.y < place.top - kDropReach || p.y >= place.bottom + kDropReach)
            continue;
        Drop drop{static_cast<AxisPlace>(i), 0};
        for (const GridChip& chip : chips) {
            if (chip.kind == GridChip::Kind::axis && chip.place == drop.place && chip.axis != axis &&
                (chip.rect.left + chip.rect.right) / 2 < p.x)
                ++drop.inside;
        }
        return drop;
    }
    return std::nullopt;
}

GridControls paintControls(Canvas& canvas, const GridFrame& frame, const Theme& theme, const sim::Simulation& simulation,
                           const GridChoices& choices, const ControlsState& state)
{
    return ControlsPainter(canvas, frame, theme, simulation, choices, state).paint();
}

} // namespace app
