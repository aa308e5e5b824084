// A view: draws itself on any Canvas and answers to pointer and keys. Owns its geometry (zoom, scroll); its data comes from the
// model it was given. No Qt, no GL inside.
#pragma once

#include "app/canvas/canvas.h"

#include <functional>
#include <optional>
#include <string>

namespace app {

enum class PointerButton : std::uint8_t { none, left, middle, right };

struct PointerEvent {
    enum class Kind : std::uint8_t { move, press, release, doubleClick, leave, wheel };
    Kind kind = Kind::move;
    Point at;
    PointerButton button = PointerButton::none; ///< that changed; for move: that is held
    float wheelX = 0, wheelY = 0;               ///< notches, up is positive
    bool shift = false, control = false, alt = false;
};

/// What a key does, already translated from physical keys by the shell's command table.
enum class ViewCommand : std::uint8_t {
    zoomIn,
    zoomOut,
    panLeft,
    panRight,
    panUp,
    panDown,
    focusSelection,
    fitAll,
    viewBack,
    viewForward,
    next,
    previous,
    followForward,
    followBack,
    nextWait, ///< idle time of the row, and why
    previousWait,
    longestWait, ///< of all rows
    nextMatch,
    previousMatch,
    mark,
    keepRange,
    rangeOfSpan,
    pinRow,
    groupRows,
    sortRows,
    filterRows,
    criticalPath,
    moveEarlier,
    moveLater,
    clear,
    because,  ///< where the number under the pointer comes from
    stepLeft, ///< to what lies beside the selected; a view without such steps pans
    stepRight,
    stepUp,
    stepDown,
    lensGroups, ///< what the cells of the rank grid show
    lensMemory,
    lensBusy,
    lensSent,
    lensBubble,
    lensStraggler,
    lensNow,
    switchArrangement, ///< by axes, or as the hardware lies
    selectTpGroup,     ///< of the rank in focus
    selectCpGroup,
    selectPpGroup,
    selectDpGroup,
    selectEpGroup
};

/// Of the rank grid, whatever picture is pointed at.
constexpr bool isOfGrid(ViewCommand command)
{
    return command >= ViewCommand::lensGroups && command <= ViewCommand::selectEpGroup;
}

/// Of the timeline alone, wherever the pointer happens to rest.
constexpr bool isOfTimeline(ViewCommand command)
{
    return command == ViewCommand::criticalPath ||
           (command >= ViewCommand::followForward && command <= ViewCommand::previousMatch) ||
           (command >= ViewCommand::keepRange && command <= ViewCommand::filterRows);
}

enum class CursorShape : std::uint8_t { arrow, pointingHand, crosshair, resizeHorizontal, grab };

// What a notch of the wheel or a press of a key does, in every view alike.
inline constexpr double kZoomStep = 1.25;
inline constexpr float kScrollPixels = 48;
inline constexpr int kFastPresses = 4; ///< in one, with Shift

class View {
public:
    virtual ~View() = default;
    virtual std::string title() const = 0;
    virtual void draw(Canvas&) = 0;
    /// Before an audience, or on paper: nobody can point or click there, so nothing invites to; the colours' names come first.
    void setForAudience(bool on, float magnification = 1)
    {
        m_isForAudience = on;
        m_magnification = magnification;
    }
    bool isForAudience() const { return m_isForAudience; }
    /// Pixels that a pixel of the canvas is seen as: what is hard to see in one is not where this is large.
    float magnification() const { return m_magnification; }
    /// A figure or a frame of a film is drawn: no pointer is over it.
    bool isOnPaper() const { return m_isOnPaper; }
    /// False: nothing here is scrolled or zoomed by the wheel, which is the page's around it.
    virtual bool takesWheel() const { return true; }
    /// Both return true if something changed that must be drawn.
    virtual bool pointer(const PointerEvent&, Rect area)
    {
        (void)area;
        return false;
    }
    virtual bool command(ViewCommand, bool fast, Rect area)
    {
        (void)fast;
        (void)area;
        return false;
    }
    virtual CursorShape cursor() const { return CursorShape::arrow; }
    /// Text for a tooltip at the pointer; empty for none.
    virtual std::string tooltip() const { return {}; }
    /// What tooltip() tells of, and nothing of what it tells: for a picture of what somebody is just asked about.
    virtual std::string tooltipName() const
    {
        std::string text = tooltip();
        return text.substr(0, text.find('\n'));
    }
    /// What it tells about, and must not cover where there is room elsewhere.
    virtual std::optional<Rect> tooltipKeepsClearOf() const { return std::nullopt; }
    /// True while something moves by itself: the widget then draws the next frame too.
    virtual bool animating() const { return false; }

private:
    friend void drawOnPaper(View&, Canvas&);
    bool m_isForAudience = false, m_isOnPaper = false;
    float m_magnification = 1;
};

/// A view as a figure or a frame of a film: the pointer is over nothing, on a screen too until it moves again.
void drawOnPaper(View&, Canvas&);
/// A view that is a part of another: on paper, or before an audience, where that is.
void drawPart(const View& whole, View& part, Canvas&);

} // namespace app
