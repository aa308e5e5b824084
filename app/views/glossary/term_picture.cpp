#include "app/views/glossary/term_picture.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace app {
namespace {

constexpr float kNoteRoom = 22, kTermMargin = 10, kNameRoom = 62;
constexpr std::string_view kTermLetters = "FBIWROh._tcepd";

std::optional<sim::OpClass> classOfLetter(char letter)
{
    switch (letter) {
    case 'F':
        return sim::OpClass::forward;
    case 'B':
        return sim::OpClass::backward;
    case 'I':
        return sim::OpClass::backwardInput;
    case 'W':
        return sim::OpClass::backwardWeight;
    case 'R':
        return sim::OpClass::recompute;
    case 'O':
        return sim::OpClass::optimizer;
    case 'h':
        return sim::OpClass::hostTransfer;
    case 't':
        return sim::OpClass::tpComm;
    case 'c':
        return sim::OpClass::cpComm;
    case 'e':
        return sim::OpClass::epComm;
    case 'p':
        return sim::OpClass::ppComm;
    case 'd':
        return sim::OpClass::dpComm;
    default:
        return std::nullopt;
    }
}

Color partFill(const std::string& name, std::size_t place, const Theme& theme)
{
    if (name == "parameters")
        return theme.parameters;
    if (name == "gradients")
        return theme.gradients;
    if (name == "optimizer")
        return theme.optimizer;
    if (name == "activations")
        return theme.activations;
    if (name == "buffers")
        return theme.buffers;
    constexpr float kFirst = 0.62F, kStep = 0.17F;
    return place == 0 ? theme.accent : mix(theme.canvas, theme.text, std::max(0.14F, kFirst - kStep * static_cast<float>(place)));
}

/// In the middle, drawn only if it fits.
void centred(Canvas& canvas, Rect in, const std::string& text, Color color, FontFace face = FontFace::small)
{
    textInside(canvas, in, fitting(canvas, {text}, in.width(), face), color, face, Align::center);
}

void paintRows(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    constexpr float kHighestRow = 30, kGap = 4;
    std::vector<std::vector<TermPass>> rows;
    int longest = 1;
    for (const auto& [name, text] : picture.rows) {
        rows.push_back(termPasses(text));
        int length = 0;
        for (const TermPass& pass : rows.back())
            length += pass.length;
        longest = std::max(longest, length);
    }
    const float row = std::min(kHighestRow, area.height() / static_cast<float>(std::max<std::size_t>(1, rows.size())) - kGap);
    const float unit = std::min(34.0F, (area.width() - kNameRoom) / static_cast<float>(longest));
    float top = area.top + (area.height() - (row + kGap) * static_cast<float>(rows.size())) / 2;
    for (std::size_t i = 0; i < rows.size(); ++i, top += row + kGap) {
        textInside(canvas, {area.left, top, area.left + kNameRoom - 6, top + row}, picture.rows[i].first, theme.mutedText,
                   FontFace::small);
        float x = area.left + kNameRoom;
        for (const TermPass& pass : rows[i]) {
            const Rect rect{std::round(x), top, std::round(x + unit * static_cast<float>(pass.length)) - 1, top + row};
            x += unit * static_cast<float>(pass.length);
            if (const auto opClass = classOfLetter(pass.letter)) {
                const bool transfer = sim::isCommunication(*opClass);
                const Rect bar = transfer ? Rect{rect.left, rect.top + row * 0.3F, rect.right, rect.bottom - row * 0.3F} : rect;
                canvas.fillRect(bar, theme.fill(*opClass));
                if (!transfer)
                    centred(canvas, bar, std::string(1, pass.letter), theme.label(*opClass), FontFace::bold);
            } else if (pass.letter == '.') {
                canvas.strokeRect(rect, mix(theme.canvas, theme.text, 0.35F), 1, LineStyle::dotted);
            }
            if (pass.isLit)
                canvas.strokeRect(rect.inset(-2), theme.text, 2);
        }
    }
}

void paintBars(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    constexpr float kHighestBar = 26, kGap = 5;
    double most = picture.limit;
    for (const auto& [name, parts] : picture.bars) {
        double sum = 0;
        for (const TermPicture::Part& part : parts)
            sum += part.size;
        most = std::max(most, sum);
    }
    const auto count = static_cast<float>(std::max<std::size_t>(1, picture.bars.size()));
    const float bar = std::min(kHighestBar, area.height() / count - kGap);
    const float left = area.left + kNameRoom + 8, width = area.right - left - 4;
    const float first = area.top + (area.height() - (bar + kGap) * count) / 2;
    float top = first;
    for (const auto& [name, parts] : picture.bars) {
        textInside(canvas, {area.left, top, left - 6, top + bar}, name, theme.mutedText, FontFace::small);
        double sum = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const float from = left + static_cast<float>(sum / most) * width;
            sum += parts[i].size;
            const Rect rect{std::round(from), top,
                            std::max(std::round(from) + 1, std::round(left + static_cast<float>(sum / most) * width) - 1),
                            top + bar};
            const Color fill = partFill(parts[i].name, i, theme);
            canvas.fillRect(rect, fill);
            centred(canvas, rect.inset(2), parts[i].name, readableOn(fill));
        }
        top += bar + kGap;
    }
    if (picture.limit > 0) {
        const float x = left + static_cast<float>(picture.limit / most) * width;
        canvas.line({x, first - 6}, {x, top + 2}, theme.error, 2);
    }
}

void paintGrid(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    constexpr float kWidest = 64, kHighest = 30, kGap = 6;
    const int columns = std::max(1, picture.columns), count = static_cast<int>(picture.cells.size());
    const int rows = (count + columns - 1) / columns;
    const float width = std::min(kWidest, area.width() / static_cast<float>(columns) - kGap);
    const float height = std::min(kHighest, area.height() / static_cast<float>(std::max(1, rows)) - kGap);
    const float left = area.left + (area.width() - (width + kGap) * static_cast<float>(columns) + kGap) / 2;
    const float top = area.top + (area.height() - (height + kGap) * static_cast<float>(rows) + kGap) / 2;
    const auto cell = [&](int i) {
        const float x = std::round(left + (width + kGap) * static_cast<float>(i % columns));
        const float y = std::round(top + (height + kGap) * static_cast<float>(i / columns));
        return Rect{x, y, x + std::floor(width), y + std::floor(height)};
    };
    for (int i = 0; i < count; ++i) {
        const bool isLit = std::find(picture.lit.begin(), picture.lit.end(), i) != picture.lit.end();
        const Color fill = isLit ? theme.accent : mix(theme.canvas, theme.text, theme.dark ? 0.2F : 0.12F);
        canvas.fillRect(cell(i), fill);
        centred(canvas, cell(i), picture.cells[static_cast<std::size_t>(i)], readableOn(fill));
    }
    for (const std::vector<int>& group : picture.groups) {
        Rect frame = cell(group.front());
        for (const int i : group) {
            const Rect of = cell(i);
            frame = {std::min(frame.left, of.left), std::min(frame.top, of.top), std::max(frame.right, of.right),
                     std::max(frame.bottom, of.bottom)};
        }
        canvas.strokeRect(frame.inset(-2), theme.text, 1.5F);
    }
}

void paintFlow(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    constexpr float kArrow = 20, kBoxHeight = 34;
    const auto count = static_cast<float>(std::max<std::size_t>(1, picture.cells.size()));
    const float width = std::min(110.0F, (area.width() - kArrow * (count - 1)) / count);
    const float left = area.left + (area.width() - width * count - kArrow * (count - 1)) / 2;
    const float top = std::round(area.top + (area.height() - kBoxHeight) / 2), middle = top + kBoxHeight / 2;
    for (std::size_t i = 0; i < picture.cells.size(); ++i) {
        const float x = std::round(left + (width + kArrow) * static_cast<float>(i));
        const Rect box{x, top, x + std::floor(width), top + kBoxHeight};
        const bool isLit = std::find(picture.lit.begin(), picture.lit.end(), static_cast<int>(i)) != picture.lit.end();
        const Color fill = isLit ? theme.accent : mix(theme.canvas, theme.text, theme.dark ? 0.2F : 0.12F);
        canvas.fillRect(box, fill);
        centred(canvas, box.inset(3), picture.cells[i], readableOn(fill));
        if (i + 1 < picture.cells.size()) {
            const float end = box.right + kArrow - 3;
            canvas.line({box.right + 3, middle}, {end - 5, middle}, theme.mutedText, 1.5F);
            canvas.fillConvex({{end, middle}, {end - 6, middle - 4}, {end - 6, middle + 4}}, theme.mutedText);
        }
    }
}

void paintCurve(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    constexpr float kAxisText = 18;
    const Rect plot{area.left + kNameRoom, area.top + 4, area.right - 4, area.bottom - kAxisText};
    textInside(canvas, {area.left, plot.top, plot.left - 6, plot.top + kAxisText}, picture.yName, theme.mutedText,
               FontFace::small);
    textInside(canvas, {plot.left, plot.bottom, plot.right, area.bottom}, picture.xName, theme.mutedText, FontFace::small,
               Align::right);
    canvas.line({plot.left, plot.top}, {plot.left, plot.bottom}, theme.mutedText);
    canvas.line({plot.left, plot.bottom}, {plot.right, plot.bottom}, theme.mutedText);
    const auto at = [&](Point p) { return Point{plot.left + p.x * plot.width(), plot.bottom - p.y * (plot.height() - 2)}; };
    std::vector<Point> points;
    for (const Point& point : picture.points)
        points.push_back(at(point));
    canvas.polyline(points, theme.accent, 2);
    for (std::size_t i = 0; i < picture.points.size() && picture.markAt >= 0; ++i)
        if (picture.points[i].x == picture.markAt) {
            canvas.line({points[i].x, points[i].y}, {points[i].x, plot.bottom}, theme.text, 1, LineStyle::dashed);
            canvas.fillRect({points[i].x - 3, points[i].y - 3, points[i].x + 4, points[i].y + 4}, theme.text);
        }
}

} // namespace

std::vector<TermPass> termPasses(const std::string& row)
{
    std::vector<TermPass> out;
    std::istringstream words(row);
    for (std::string word; words >> word;) {
        const std::string whole = word;
        TermPass pass;
        pass.isLit = word.back() == '!';
        if (pass.isLit)
            word.pop_back();
        constexpr int kLongest = 20;
        pass.letter = word.empty() ? '?' : word.front();
        const std::string length = word.empty() ? word : word.substr(1);
        pass.length = length.empty() ? 1 : std::atoi(length.c_str());
        if (kTermLetters.find(pass.letter) == std::string_view::npos || pass.length < 1 || pass.length > kLongest)
            throw sim::Error("\"" + whole + "\" is no pass: one of " + std::string(kTermLetters) +
                             ", a length from 1 to 20 behind it, and ! where the term is about it");
        out.push_back(pass);
    }
    return out;
}

void paintTermPicture(Canvas& canvas, const Theme& theme, Rect area, const TermPicture& picture)
{
    canvas.fillRect(area, theme.canvas);
    canvas.strokeRect(area, theme.border);
    Rect inner = area.inset(kTermMargin);
    if (!picture.note.empty()) {
        inner.bottom -= kNoteRoom;
        const Rect note{inner.left, inner.bottom + 4, inner.right, inner.bottom + kNoteRoom};
        textInside(canvas, note, fitting(canvas, {picture.note}, note.width(), FontFace::small), theme.text, FontFace::small,
                   Align::center);
    }
    switch (picture.kind) {
    case TermPicture::Kind::none:
        return;
    case TermPicture::Kind::rows:
        return paintRows(canvas, theme, inner, picture);
    case TermPicture::Kind::bars:
        return paintBars(canvas, theme, inner, picture);
    case TermPicture::Kind::grid:
        return paintGrid(canvas, theme, inner, picture);
    case TermPicture::Kind::flow:
        return paintFlow(canvas, theme, inner, picture);
    case TermPicture::Kind::curve:
        return paintCurve(canvas, theme, inner, picture);
    }
}

} // namespace app
