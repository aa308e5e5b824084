// The map of tensor by pipeline parallelism.
#include "app/views/plan/plan_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/plan/plan_heat.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr float kHeatGutter = 52, kHeatHead = 24, kHeatLegend = 17, kWidestPlanCell = 132, kHighestPlanCell = 58, kHeatGap = 2;
constexpr float kLowestPlanCell = 17, kHeatFoot = 4; ///< a line of text and the gap
constexpr float kRoomForLegend = 88;                 ///< of the map alone
constexpr float kNarrowestPlanCell = 30;             ///< "+12" and the gap
constexpr float kHatchPixels = 7;

/// From the lower left to the upper right, all over the rectangle; `both`: the other way as well.
void hatch(Canvas& canvas, Rect rect, Color color, bool both)
{
    canvas.pushClip(rect);
    for (float x = rect.left - rect.height(); x < rect.right; x += kHatchPixels) {
        canvas.line({x, rect.bottom}, {x + rect.height(), rect.top}, color, 1);
        if (both)
            canvas.line({x, rect.top}, {x + rect.height(), rect.bottom}, color, 1);
    }
    canvas.popClip();
}

bool isRefused(PlanCellKind kind)
{
    return kind == PlanCellKind::rule || kind == PlanCellKind::none;
}

struct LegendEntry {
    std::optional<PlanCellKind> kind; ///< nothing: where the scenario is
    const char* text;
    const char* brief; ///< where not all texts have room
    int need = 0;      ///< where not even these: signs before words, words before colours
};

/// In the words of the cells.
constexpr LegendEntry kLegendEntries[]{{PlanCellKind::winner, "best", "best", 6},
                                       {PlanCellKind::tie, "tie: closer than the model's own error", "tie", 4},
                                       {std::nullopt, "yours: your tp and pp, at their best", "yours", 5},
                                       {PlanCellKind::memory, "mem: too large", "too large", 2},
                                       {PlanCellKind::rule, "no: not legal", "not legal", 3},
                                       {PlanCellKind::slower, "≤: at most so much more", "≤: at most", 1},
                                       {PlanCellKind::floor, "≥: at least so much more", "≥: at least", 0},
                                       {PlanCellKind::open, "open: not looked at", "not looked at", 3}};

std::vector<LegendEntry> legendOf(const PlanPicture& picture)
{
    const auto shows = [&](const LegendEntry& entry, const PlanCell& cell) {
        const bool isAtMost = cell.kind == PlanCellKind::slower || cell.kind == PlanCellKind::tie;
        return !entry.kind                           ? picture.isMine(cell)
               : *entry.kind == PlanCellKind::slower ? isAtMost && !cell.isProved
                                                     : cell.kind == *entry.kind;
    };
    std::vector<LegendEntry> out;
    for (const LegendEntry& entry : kLegendEntries)
        if (std::any_of(picture.cells().begin(), picture.cells().end(), [&](const PlanCell& cell) { return shows(entry, cell); }))
            out.push_back(entry);
    return out;
}

constexpr float kLegendSwatch = 12, kLegendGap = 12, kWidestLetter = 7; ///< of the small face
constexpr float kLegendEdge = 6; ///< left of it: it takes the room below the names of rows too

/// Rows that entries of such widths take.
int legendRowsOf(const std::vector<float>& widths, float room)
{
    int rows = 1;
    float x = 0;
    for (const float wide : widths) {
        if (x > 0 && x + wide > room) {
            ++rows;
            x = 0;
        }
        x += wide + kLegendGap;
    }
    return rows;
}

/// Rows that are enough for it, whatever its letters are.
int legendRowsOf(const std::vector<LegendEntry>& entries, const char* LegendEntry::*words, float room)
{
    std::vector<float> widths;
    for (const LegendEntry& entry : entries)
        widths.push_back(kLegendSwatch + 5 + kWidestLetter * static_cast<float>(std::string_view(entry.*words).size()));
    return legendRowsOf(widths, room);
}

float legendRoom(float width)
{
    return width - kMargin - kLegendEdge;
}

/// "2.6×", "12×"
std::string timesText(double times)
{
    constexpr double kTenths = 10;
    const std::int64_t tenths = std::llround(times * kTenths);
    return tenths < 100 ? countText(tenths / 10) + "." + std::to_string(tenths % 10) + "×" : countText(std::llround(times)) + "×";
}

/// What it says beside its time, longest first; the tooltip has the whole.
std::vector<std::string> marginTexts(const PlanPicture& picture, const PlanCell& cell)
{
    const std::string whole = marginText(picture, cell), percent = marginPercent(cell.margin, 0),
                      number = percent.substr(0, percent.find(' '));
    switch (cell.kind) {
    case PlanCellKind::tie:
        return {whole, "tie"};
    case PlanCellKind::slower:
        if (constexpr double kTwice = 1; cell.margin >= kTwice) // a number alone would be read as one of percents or of times
            return {whole, percent, timesText(1 + cell.margin)};
        return {whole, percent, number};
    case PlanCellKind::floor:
        return picture.byHeadroom() ? std::vector<std::string>{whole, "≥"} : std::vector<std::string>{whole, "≥ " + number, "≥"};
    case PlanCellKind::memory:
        return {whole, "mem"};
    case PlanCellKind::rule:
        return {whole, "no"};
    case PlanCellKind::winner:
        return {whole, "1st"};
    case PlanCellKind::open:
        return {whole, "?"};
    default:
        return {whole};
    }
}

/// In the upper left corner of a cell; `room`: along its sides, until the slope meets what is written.
void mineMark(Canvas& canvas, Rect rect, const Theme& theme, float room)
{
    constexpr float kSmallest = 5, kLargest = 12, kEdge = 3;
    const float side = std::min({std::clamp(room - kEdge, kSmallest, kLargest), rect.width(), rect.height()});
    canvas.fillConvex({{rect.left, rect.top}, {rect.left + side + kEdge, rect.top}, {rect.left, rect.top + side + kEdge}},
                      theme.canvas);
    canvas.fillConvex({{rect.left, rect.top}, {rect.left + side, rect.top}, {rect.left, rect.top + side}}, theme.text);
}

/// Sizes up to the greatest of which something is legal, and one more: what is refused is seen, not spread out.
std::vector<int> shownSizes(const PlanPicture& picture, const std::vector<int>& sizes, int PlanCell::*size)
{
    int greatest = 0;
    for (const PlanCell& cell : picture.cells())
        if (!isRefused(cell.kind))
            greatest = std::max(greatest, cell.*size);
    std::vector<int> shown;
    for (const int of : sizes)
        if (of <= greatest || (shown.size() < sizes.size() && (shown.empty() || shown.back() <= greatest)))
            shown.push_back(of);
    return shown;
}

} // namespace

struct PlanHeatMap::Frame {
    std::vector<int> tps, pps;
    float left = 0, top = 0, width = 1, height = 1; ///< of the first cell
    float legendTop = 0;
    int legendRows = 0;
    Rect cell(std::size_t column, std::size_t row) const
    {
        const float x = std::floor(left + width * static_cast<float>(column)),
                    y = std::floor(top + height * static_cast<float>(row));
        return {x, y, std::floor(left + width * static_cast<float>(column + 1)) - kHeatGap,
                std::floor(top + height * static_cast<float>(row + 1)) - kHeatGap};
    }
};

PlanHeatMap::Frame PlanHeatMap::frame(Rect area) const
{
    Frame f;
    f.tps = shownSizes(picture(), picture().tps(), &PlanCell::tp);
    f.pps = shownSizes(picture(), picture().pps(), &PlanCell::pp);
    f.left = area.left + kHeatGutter;
    f.top = area.top + kHeatHead;
    const float right = area.right - kMargin;
    const int rows = legendRowsOf(legendOf(picture()), &LegendEntry::text, legendRoom(area.width()));
    const float ofMap = std::max(kRoomForLegend, kHeatHead + kLowestPlanCell * static_cast<float>(f.pps.size()));
    f.legendRows = std::clamp(static_cast<int>((area.height() - ofMap) / kHeatLegend), 0, rows);
    const float bottom = area.bottom - (f.legendRows > 0 ? kHeatLegend * static_cast<float>(f.legendRows) : kHeatFoot);
    f.width = std::clamp((right - f.left) / static_cast<float>(f.tps.size()), 1.0F, kWidestPlanCell);
    f.height = std::clamp((bottom - f.top) / static_cast<float>(f.pps.size()), 1.0F, kHighestPlanCell);
    f.legendTop = f.top + f.height * static_cast<float>(f.pps.size()) + 2;
    return f;
}

float PlanHeatMap::leastWidth() const
{
    if (!hasPicture())
        return 0;
    return kHeatGutter + kNarrowestPlanCell * static_cast<float>(shownSizes(picture(), picture().tps(), &PlanCell::tp).size()) +
           kMargin;
}

float PlanHeatMap::leastHeight(float width) const
{
    if (!hasPicture())
        return 0;
    const auto rows = static_cast<float>(shownSizes(picture(), picture().pps(), &PlanCell::pp).size());
    const std::vector<LegendEntry> entries = legendOf(picture());
    const float legend = entries.empty()
                             ? kHeatFoot
                             : kHeatLegend * static_cast<float>(legendRowsOf(entries, &LegendEntry::brief, legendRoom(width)));
    return std::max(kRoomForLegend, kHeatHead + kLowestPlanCell * rows) + legend;
}

std::vector<PlanView::Spot> PlanHeatMap::spots(Rect area) const
{
    const Frame f = frame(area);
    std::vector<Spot> out;
    for (std::size_t row = 0; row < f.pps.size(); ++row)
        for (std::size_t column = 0; column < f.tps.size(); ++column)
            if (const PlanCell* cell = picture().cell(f.tps[column], f.pps[row]); cell && cell->kind != PlanCellKind::none)
                out.push_back({f.cell(column, row), choiceOf(*cell), cellText(picture(), *cell)});
    return out;
}

void PlanHeatMap::paint(Canvas& canvas) const
{
    const Frame f = frame(canvas.area());
    const Theme& t = theme();
    const Color faint = mix(t.canvas, t.text, 0.10F), pale = mix(t.canvas, t.text, 0.05F);
    bool areNumbers = false; // which the corner says of what
    for (std::size_t column = 0; column < f.tps.size(); ++column) {
        const Rect under = f.cell(column, 0);
        const Rect head{under.left, f.top - kHeatHead, under.right, f.top};
        const std::string size = countText(f.tps[column]);
        const std::string shown = fitting(canvas, {"tp " + size, size}, head.width(), FontFace::small);
        areNumbers = areNumbers || shown == size;
        textInside(canvas, head, shown, t.mutedText, FontFace::small, Align::center);
    }
    if (areNumbers)
        textInside(canvas, {f.left - kHeatGutter + 4, f.top - kHeatHead, f.left - 6, f.top}, "tp", t.mutedText, FontFace::small,
                   Align::right);
    for (std::size_t row = 0; row < f.pps.size(); ++row) {
        const Rect beside = f.cell(0, row);
        textInside(canvas, {f.left - kHeatGutter + 4, beside.top, f.left - 6, beside.bottom}, "pp " + countText(f.pps[row]),
                   t.mutedText, FontFace::small, Align::right);
        for (std::size_t column = 0; column < f.tps.size(); ++column) {
            const PlanCell* const cell = picture().cell(f.tps[column], f.pps[row]);
            const Rect rect = f.cell(column, row);
            if (!cell || cell->kind == PlanCellKind::none)
                continue;
            Color fill = pale;
            if (cell->best) {
                constexpr double kHalfAt = 0.25; ///< a quarter longer is half as strong
                fill = planHeat(t, cell->margin / kHalfAt);
            }
            canvas.fillRect(rect, fill);
            const Color ink = cell->best ? readableOn(fill) : t.mutedText;
            switch (cell->kind) {
            case PlanCellKind::memory:
                hatch(canvas, rect, mix(t.canvas, t.warning, 0.45F), false);
                break;
            case PlanCellKind::rule:
                hatch(canvas, rect, faint, true);
                break;
            case PlanCellKind::open:
                canvas.strokeRect(rect, t.mutedText, 1, LineStyle::dashed);
                break;
            default:
                break;
            }
            const std::vector<std::string> margins = marginTexts(picture(), *cell);
            // In a low cell one line of text comes before the room around it.
            const float above = std::clamp((rect.height() - canvas.textHeight(FontFace::small)) / 2, 0.0F, 3.0F);
            const Rect inner{rect.left + 3, rect.top + above, rect.right - 3, rect.bottom - above};
            float room = rect.width() + rect.height(); // for a corner
            const auto labelled = [&](Rect at, const std::string& text, FontFace face) {
                const float width = canvas.textWidth(text, face), height = canvas.textHeight(face);
                if (text.empty() || width > at.width() || height > at.height() + 2)
                    return;
                const float aside = (at.left + at.right - width) / 2 - rect.left;
                room = std::min(room, aside + (at.top + at.bottom - height) / 2 - rect.top);
                if (cell->kind == PlanCellKind::memory || cell->kind == PlanCellKind::rule) { // to be read on its hatching
                    const float x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
                    canvas.fillRect({x - width / 2 - 2, y - height / 2, x + width / 2 + 2, y + height / 2}, pale);
                }
                textInside(canvas, at, text, ink, face, Align::center);
            };
            if (cell->best) {
                const auto time = durationText(cell->best->paceSeconds() * 1e9);
                const float half = std::floor((inner.top + inner.bottom) / 2);
                const bool isHigh = inner.height() >= canvas.textHeight(FontFace::bold) + canvas.textHeight(FontFace::small);
                const std::string first = fitting(canvas, {time}, inner.width(), FontFace::bold);
                if (isHigh && !first.empty()) {
                    labelled({inner.left, inner.top, inner.right, half + 2}, first, FontFace::bold);
                    labelled({inner.left, half + 2, inner.right, inner.bottom},
                             fitting(canvas, margins, inner.width(), FontFace::small), FontFace::small);
                } else {
                    std::vector<std::string> inALine = margins;
                    inALine.insert(inALine.begin(), time + " · " + margins.front());
                    labelled(inner, fitting(canvas, inALine, inner.width(), FontFace::small), FontFace::small);
                }
            } else {
                labelled(inner, fitting(canvas, margins, inner.width(), FontFace::small), FontFace::small);
            }
            if (cell->kind == PlanCellKind::winner)
                canvas.strokeRect(rect, t.accent, 3);
            else if (cell->kind == PlanCellKind::tie)
                canvas.strokeRect(rect.inset(2), ink, 1, LineStyle::dotted);
            if (picture().isMine(*cell))
                mineMark(canvas, rect, t, room);
            if (isHovered(choiceOf(*cell)))
                canvas.strokeRect(rect, t.hover, 2);
            if (isChosenCell(cell->tp, cell->pp))
                canvas.strokeRect({rect.left - 2, rect.top - 2, rect.right + 2, rect.bottom + 2}, t.text, 2);
        }
    }
    paintLegend(canvas, f);
}

void PlanHeatMap::paintLegend(Canvas& canvas, const Frame& f) const
{
    const Theme& t = theme();
    const Color faint = mix(t.canvas, t.text, 0.10F), pale = mix(t.canvas, t.text, 0.05F);
    const float left = canvas.area().left + kLegendEdge, room = canvas.area().right - kMargin - left;
    std::vector<LegendEntry> entries = legendOf(picture());
    const auto widthOf = [&](const char* text) { return kLegendSwatch + 5 + canvas.textWidth(text, FontFace::small); };
    const auto fits = [&] {
        std::vector<float> widths;
        for (const LegendEntry& entry : entries)
            widths.push_back(widthOf(entry.text));
        return legendRowsOf(widths, room) <= f.legendRows;
    };
    if (!fits()) {
        for (LegendEntry& entry : entries)
            entry.text = entry.brief;
        if (!fits())
            std::stable_sort(entries.begin(), entries.end(),
                             [](const LegendEntry& one, const LegendEntry& other) { return one.need < other.need; });
    }
    float x = left, y = f.legendTop;
    int row = 1;
    for (const LegendEntry& entry : entries) {
        const float width = widthOf(entry.text);
        if (x > left && x + width > left + room) {
            x = left;
            y += kHeatLegend;
            ++row;
        }
        if (row > f.legendRows || x + width > canvas.area().right)
            break;
        const float middle = y + kHeatLegend / 2;
        const Rect swatch{x, middle - kLegendSwatch / 2, x + kLegendSwatch, middle + kLegendSwatch / 2};
        const bool isRun = entry.kind == PlanCellKind::winner || entry.kind == PlanCellKind::tie;
        canvas.fillRect(swatch, isRun ? t.heatAt(0.9) : pale);
        if (!entry.kind)
            mineMark(canvas, swatch, t, 2 * kLegendSwatch);
        else if (*entry.kind == PlanCellKind::memory)
            hatch(canvas, swatch, mix(t.canvas, t.warning, 0.45F), false);
        else if (*entry.kind == PlanCellKind::rule)
            hatch(canvas, swatch, faint, true);
        else if (*entry.kind == PlanCellKind::winner)
            canvas.strokeRect(swatch, t.accent, 2);
        else
            canvas.strokeRect(*entry.kind == PlanCellKind::tie ? swatch.inset(1) : swatch,
                              *entry.kind == PlanCellKind::tie ? readableOn(t.heatAt(0.9)) : t.mutedText, 1,
                              *entry.kind == PlanCellKind::open  ? LineStyle::dashed
                              : *entry.kind == PlanCellKind::tie ? LineStyle::dotted
                                                                 : LineStyle::solid);
        textInside(canvas, {swatch.right + 5, y, x + width + 1, y + kHeatLegend}, entry.text, t.mutedText, FontFace::small);
        x += width + kLegendGap;
    }
}

} // namespace app
