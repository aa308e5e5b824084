// A small drawing of what a term means: passes in rows, bars of parts, ranks in a grid, things one after the other, a curve. The
// glossary's file says what is in it (assets/glossary.json), the theme how it looks.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"

#include <string>
#include <utility>
#include <vector>

namespace app {

struct TermPicture {
    enum class Kind { none, rows, bars, grid, flow, curve };
    Kind kind = Kind::none;
    std::string note; ///< below the drawing
    /// rows: a name, and what runs one after the other, separated by spaces. F B I W R (recomputation) O (optimizer), "."
    /// waiting,
    /// "_" nothing, t c e p d (communication of tp, cp, ep, pp, dp); a number behind it: so many times as long; "!": the term is
    /// about this.
    std::vector<std::pair<std::string, std::string>> rows;
    struct Part {
        std::string name; ///< parameters, gradients, optimizer, activations have their colours
        double size = 0;
    };
    std::vector<std::pair<std::string, std::vector<Part>>> bars;
    double limit = 0;               ///< a line across the bars; 0: none
    std::vector<std::string> cells; ///< grid: row by row; flow: its boxes
    int columns = 0;
    std::vector<std::vector<int>> groups; ///< of cells that lie in one rectangle: a frame around them
    std::vector<int> lit;                 ///< cells that the term is about
    std::string xName, yName;             ///< curve
    std::vector<Point> points;            ///< 0 to 1, y upwards
    float markAt = -1;                    ///< x of a line down from the curve
};

/// One pass of a row; nothing where the text is none of them.
struct TermPass {
    char letter = '.';
    int length = 1;
    bool isLit = false;
};
/// Throws sim::Error, with what it cannot read.
std::vector<TermPass> termPasses(const std::string& row);

inline constexpr float kTermPictureWidth = 380, kTermPictureHeight = 132; ///< that it is made for
void paintTermPicture(Canvas&, const Theme&, Rect, const TermPicture&);

} // namespace app
