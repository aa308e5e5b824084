#include "app/views/live/curves_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace app {
namespace {

constexpr float kGutter = 52, kTitle = 20, kAxis = 18, kBetween = 8;
constexpr double kNsPerSecond = 1e9;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// 1, 2 or 5 times a power of ten, at least that.
double niceStep(double least)
{
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (power * factor >= least * 0.999)
            return power * factor;
    return power * 10;
}

std::string lossText(double loss)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", loss);
    return text.data();
}

/// Pieces of a curve of ascending x, as far apart sideways whatever it does: dashes along its way would close up where many
/// points that go up and down lie on one pixel.
std::vector<std::vector<Point>> dashesOf(const std::vector<Point>& curve, float left)
{
    constexpr float kDash = 9, kPeriod = 16;
    std::vector<std::vector<Point>> out;
    const auto at = [](Point a, Point b, float x) {
        return b.x <= a.x ? a : Point{x, a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x)};
    };
    float dashed = -1; // the dash that is drawn, by where it begins
    for (std::size_t i = 1; i < curve.size(); ++i) {
        const Point a = curve[i - 1], b = curve[i];
        for (float begin = left + std::floor((a.x - left) / kPeriod) * kPeriod; begin <= b.x; begin += kPeriod) {
            const float from = std::max(a.x, begin), to = std::min(b.x, begin + kDash);
            if (from > to)
                continue;
            if (out.empty() || dashed != begin)
                out.push_back({at(a, b, from)});
            dashed = begin;
            out.back().push_back(to == b.x ? b : at(a, b, to));
        }
    }
    return out;
}

/// Does the curve with its dots pass through that?
bool passesThrough(const std::vector<Point>& curve, Rect rect)
{
    constexpr float kDots = 4;
    const Rect near = rect.inset(-kDots);
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const Point from = curve[i == 0 ? 0 : i - 1], to = curve[i];
        if (to.x < near.left || from.x > near.right)
            continue;
        const auto yAt = [&](float x) {
            return to.x > from.x ? from.y + (to.y - from.y) * (std::clamp(x, from.x, to.x) - from.x) / (to.x - from.x) : to.y;
        };
        const auto [top, bottom] = std::minmax({yAt(near.left), yAt(near.right)});
        if (bottom >= near.top && top <= near.bottom)
            return true;
    }
    return false;
}

/// Where the name of a level stands: right or left, above its line or below, wherever the curve leaves it room.
Rect besideCurve(const std::vector<Point>& curve, Rect area, float level, float width, float height)
{
    const float above = level - height - 1, below = level + 2;
    std::vector<Rect> places;
    for (const float left : {area.right - width, area.left + 2})
        for (const float top : {above, below, below + height, below + 2 * height})
            if (top >= area.top && top + height <= area.bottom)
                places.push_back({left, top, left + width, top + height});
    const auto free = std::find_if(places.begin(), places.end(), [&](Rect place) { return !passesThrough(curve, place); });
    if (free != places.end())
        return *free;
    return places.empty() ? Rect{area.right - width, below, area.right, below + height} : places.front();
}

std::string secondsText(double seconds)
{
    return durationText(seconds * kNsPerSecond);
}

} // namespace

struct CurvesView::Plot {
    Rect area; ///< of the curve
    std::string title;
    double CurvePoint::*value = nullptr;
    std::string (*text)(double) = nullptr;
    Color color;
    bool fromZero = false;
    const std::vector<CurvePoint>* earlier = nullptr; ///< the same of the run before
    double reference = kUnknown;                      ///< a level to compare with
    std::string referenceName;
    bool isSparse = false; ///< of some steps only: they are joined across the others
};

CurvesView::CurvesView(const Theme& theme) : m_theme(theme), m_predictedSeconds(kUnknown) {}

void CurvesView::add(const std::vector<CurvePoint>& points)
{
    for (const CurvePoint& point : points) {
        CurvePoint& kept = pointOf(point.step);
        const double parallelSeconds = kept.parallelSeconds;
        kept = point;
        kept.parallelSeconds = parallelSeconds;
    }
}

void CurvesView::setParallelSeconds(int step, double seconds)
{
    pointOf(step).parallelSeconds = seconds;
}

/// Of which nothing is known yet, where it is new.
CurvePoint& CurvesView::pointOf(int step)
{
    const auto place =
        std::lower_bound(m_points.begin(), m_points.end(), step, [](const CurvePoint& p, int wanted) { return p.step < wanted; });
    if (place != m_points.end() && place->step == step)
        return *place;
    return *m_points.insert(
        place, {.step = step, .loss = kUnknown, .gradientNorm = kUnknown, .tokensPerSecond = kUnknown, .seconds = kUnknown});
}

void CurvesView::clear()
{
    m_points.clear();
    m_hovered.reset();
    m_shown.reset();
    m_predictedSeconds = kUnknown;
}

void CurvesView::setEarlier(const std::string& name, std::vector<CurvePoint> points)
{
    m_earlierName = name;
    m_earlier = std::move(points);
}

void CurvesView::setPlannedSteps(int steps)
{
    m_plannedSteps = steps;
}

void CurvesView::setShownStep(std::optional<int> step, bool chosen)
{
    m_shown = step;
    m_isChosen = chosen;
}

void CurvesView::setPredictedSeconds(double seconds)
{
    m_predictedSeconds = seconds;
}

void CurvesView::setTheme(const Theme& theme)
{
    m_theme = theme;
}

CurvesView::Frame CurvesView::frameOf(Rect area)
{
    const float left = area.left + kGutter, right = area.right - kMargin;
    const float top = area.top + 6, bottom = area.bottom - kAxis - 4;
    const float middle = std::floor(top + (bottom - top) * 0.56F);
    return {{left, top + kTitle, right, middle - kBetween / 2}, {left, middle + kBetween / 2 + kTitle, right, bottom}};
}

CurvesView::Steps CurvesView::steps() const
{
    const int first = m_points.empty() ? 1 : m_points.front().step;
    const int last = m_points.empty() ? 1 : m_points.back().step;
    // Of a long run that has just begun only the beginning is shown: what is done takes a tenth of the width at least.
    constexpr int kMostAhead = 10, kFewest = 20;
    const int ahead = std::min(m_plannedSteps, std::max(kFewest, (last - first + 1) * kMostAhead));
    return {first, std::max({last, first + 1, ahead})};
}

float CurvesView::x(double step, Rect plot) const
{
    const Steps range = steps();
    return plot.left + plot.width() * static_cast<float>((step - range.first) / static_cast<double>(range.last - range.first));
}

std::optional<std::size_t> CurvesView::pointAt(Point at, Rect area) const
{
    const Frame frame = frameOf(area);
    const Rect all{frame.loss.left - 4, frame.loss.top, frame.loss.right + 4, frame.seconds.bottom};
    if (m_points.empty() || !all.contains(at))
        return std::nullopt;
    const Steps range = steps();
    const double step =
        range.first + static_cast<double>((at.x - frame.loss.left) / frame.loss.width()) * (range.last - range.first);
    const auto after = std::lower_bound(m_points.begin(), m_points.end(), step,
                                        [](const CurvePoint& p, double s) { return static_cast<double>(p.step) < s; });
    auto index = static_cast<std::size_t>(after - m_points.begin());
    if (index == m_points.size() || (index > 0 && step - m_points[index - 1].step < m_points[index].step - step))
        --index;
    return index;
}

void CurvesView::plot(Canvas& canvas, const Plot& plot) const
{
    const Rect area = plot.area;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const CurvePoint& point : m_points)
        if (const double value = point.*plot.value; std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    const int lastStep = steps().last; // the axis is this run's
    std::vector<CurvePoint> before;
    if (plot.earlier != nullptr)
        for (const CurvePoint& point : *plot.earlier)
            if (std::isfinite(point.*plot.value) && point.step >= steps().first && point.step <= lastStep) {
                before.push_back(point);
                low = std::min(low, point.*plot.value);
                high = std::max(high, point.*plot.value);
            }
    const std::size_t told = m_hovered ? *m_hovered : m_points.empty() ? 0 : m_points.size() - 1;
    const Rect titleArea{area.left - kGutter + kMargin, area.top - kTitle, area.right, area.top};
    float used = textInside(canvas, titleArea, plot.title, m_theme.text, FontFace::bold);
    if (!before.empty()) {
        constexpr float kRoomForValue = 130;
        const Rect name{titleArea.left + used + 10, titleArea.top, titleArea.right - kRoomForValue, titleArea.bottom};
        const auto same =
            told < m_points.size()
                ? std::find_if(before.begin(), before.end(), [&](const CurvePoint& p) { return p.step == m_points[told].step; })
                : before.end();
        const std::string value = same == before.end() ? "" : " " + plot.text((*same).*plot.value);
        used += 10 + textInside(
                         canvas, name,
                         fitting(canvas,
                                 {"dashed: " + earlierName() + value, "dashed: the run before" + value, "dashed: before" + value},
                                 name.width(), FontFace::small),
                         m_theme.mutedText, FontFace::small);
    }
    if (told < m_points.size() && std::isfinite(m_points[told].*plot.value)) {
        const std::string value = plot.text(m_points[told].*plot.value);
        const std::string at = "step " + countText(m_points[told].step);
        const Rect right{titleArea.left + used + 12, titleArea.top, titleArea.right, titleArea.bottom};
        textInside(canvas, right, fitting(canvas, {value + " at " + at, value}, right.width(), FontFace::small),
                   m_hovered ? m_theme.accent : m_theme.mutedText, FontFace::small, Align::right);
    }
    canvas.fillRect({area.left, area.bottom, area.right, area.bottom + 1}, m_theme.border);
    if (low > high || area.height() < 20)
        return;
    if (std::isfinite(plot.reference)) {
        low = std::min(low, plot.reference);
        high = std::max(high, plot.reference);
    }
    if (plot.fromZero)
        low = 0;
    if (high <= low)
        high = low + std::max(std::abs(low) * 0.1, 1e-12);
    constexpr double kAir = 0.08; // of the height, above
    high += (high - low) * kAir;
    if (!plot.fromZero)
        low -= (high - low) * kAir;
    const auto y = [&](double value) { return area.bottom - area.height() * static_cast<float>((value - low) / (high - low)); };
    constexpr float kTickPixels = 34;
    const double step = niceStep((high - low) * static_cast<double>(kTickPixels / area.height()));
    const float small = canvas.textHeight(FontFace::small);
    for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
        const float at = std::floor(y(tick));
        if (at - small / 2 < area.top - 2)
            break;
        if (tick != low)
            canvas.fillRect({area.left, at, area.right, at + 1}, mix(m_theme.canvas, m_theme.text, 0.08F));
        const std::string text = std::abs(tick) < step / 2 ? "0" : plot.text(tick);
        textInside(canvas, {area.left - kGutter + 2, at - small, area.left - 6, at + small}, text, m_theme.mutedText,
                   FontFace::small, Align::right);
    }
    if (std::isfinite(plot.reference)) {
        const float at = std::floor(y(plot.reference));
        canvas.line({area.left, at}, {area.right, at}, m_theme.mutedText, 1, LineStyle::dashed);
        std::vector<Point> curve;
        for (const CurvePoint& point : m_points)
            if (std::isfinite(point.*plot.value))
                curve.push_back({x(point.step, area), y(point.*plot.value)});
        const Rect name = besideCurve(curve, area, at, canvas.textWidth(plot.referenceName, FontFace::small), small);
        canvas.text({name.left, name.top}, plot.referenceName, m_theme.mutedText, FontFace::small);
    }
    std::vector<Point> dashed;
    for (const CurvePoint& point : before)
        dashed.push_back({x(point.step, area), y(point.*plot.value)});
    // Wider and pale beneath: where both are the same, both are still seen.
    constexpr float kWiderBeneath = 6;
    for (const std::vector<Point>& dash : dashesOf(dashed, area.left))
        canvas.polyline(dash, mix(m_theme.canvas, m_theme.optimizer, 0.75F), kWiderBeneath);
    // Where several steps share a pixel, their extremes are drawn.
    std::vector<Point> line;
    const auto flush = [&] {
        if (line.size() > 1)
            canvas.polyline(line, plot.color, 2);
        else if (line.size() == 1)
            canvas.fillRect({line[0].x - 1.5F, line[0].y - 1.5F, line[0].x + 1.5F, line[0].y + 1.5F}, plot.color);
        line.clear();
    };
    for (std::size_t i = 0; i < m_points.size();) {
        const float column = std::floor(x(m_points[i].step, area));
        double least = std::numeric_limits<double>::infinity(), most = -least;
        std::size_t next = i;
        bool known = true;
        for (; next < m_points.size() && std::floor(x(m_points[next].step, area)) == column; ++next) {
            const double value = m_points[next].*plot.value;
            known = std::isfinite(value);
            if (!known)
                continue;
            least = std::min(least, value);
            most = std::max(most, value);
        }
        if (least <= most) {
            line.push_back({x(m_points[i].step, area), y(most)});
            if (least < most)
                line.push_back({x(m_points[i].step, area), y(least)});
        } else if (!known && !plot.isSparse) {
            flush();
        }
        i = next;
    }
    flush();
    constexpr float kRoomForDots = 7;
    const bool dots = area.width() / static_cast<float>(m_points.size()) >= kRoomForDots;
    for (std::size_t i = 0; i < m_points.size(); ++i) {
        const double value = m_points[i].*plot.value;
        const bool isTold = m_hovered == i || m_shown == m_points[i].step;
        if (!std::isfinite(value) || !(dots || isTold))
            continue;
        const float half = isTold ? 3.5F : 2.0F;
        const Point at{x(m_points[i].step, area), y(value)};
        canvas.fillRect({at.x - half, at.y - half, at.x + half, at.y + half}, plot.color);
    }
}

std::string CurvesView::title() const
{
    return "Loss and step time";
}

void CurvesView::draw(Canvas& canvas)
{
    canvas.fillRect(canvas.area(), m_theme.canvas);
    if (m_points.empty()) {
        drawEmpty(canvas, m_theme, "No step is done yet", "Loss and step time appear with the first one.");
        return;
    }
    const Frame frame = frameOf(canvas.area());
    if (m_shown && *m_shown >= steps().first) {
        const float at = std::floor(x(*m_shown, frame.loss));
        const Color color = m_isChosen ? m_theme.accent : mix(m_theme.canvas, m_theme.mutedText, 0.5F);
        for (const Rect& plot : {frame.loss, frame.seconds})
            canvas.fillRect({at, plot.top, at + 1, plot.bottom}, color);
    }
    plot(canvas, {.area = frame.loss,
                  .title = "Loss",
                  .value = &CurvePoint::loss,
                  .text = lossText,
                  .color = m_theme.fill(sim::OpClass::forward),
                  .earlier = &m_earlier,
                  .referenceName = {}});
    plot(canvas, {.area = frame.seconds,
                  .title = m_isAsIfParallel ? "Step time, as if parallel" : "Step time, wall clock",
                  .value = m_isAsIfParallel ? &CurvePoint::parallelSeconds : &CurvePoint::seconds,
                  .text = secondsText,
                  .color = m_theme.fill(sim::OpClass::optimizer),
                  .fromZero = true,
                  .reference = m_isAsIfParallel ? m_predictedSeconds : kUnknown,
                  .referenceName = "predicted",
                  .isSparse = m_isAsIfParallel});
    const Steps range = steps();
    const float small = canvas.textHeight(FontFace::small);
    const double tickStep = std::max(
        1.0, niceStep(range.last > range.first ? (range.last - range.first) * 56.0 / static_cast<double>(frame.seconds.width())
                                               : 1.0));
    for (double tick = std::ceil(range.first / tickStep) * tickStep; tick <= range.last; tick += tickStep) {
        const std::string text = countText(std::llround(tick));
        const float half = canvas.textWidth(text, FontFace::small) / 2;
        const float at = std::floor(x(tick, frame.seconds));
        canvas.fillRect({at, frame.seconds.bottom, at + 1, frame.seconds.bottom + 4}, m_theme.border);
        const float middle = std::clamp(at, canvas.area().left + half, canvas.area().right - 2 - half);
        canvas.text({middle, frame.seconds.bottom + 4}, text, m_theme.mutedText, FontFace::small, Align::center);
    }
    textInside(canvas,
               {frame.seconds.left - kGutter + kMargin, frame.seconds.bottom + 3, frame.seconds.left - 8,
                frame.seconds.bottom + 5 + small},
               "step", m_theme.mutedText, FontFace::small);
    if (canvas.wantsNodes()) {
        constexpr std::uint64_t kCurves = 1;
        const CurvePoint& last = m_points.back();
        canvas.node({.id = kCurves,
                     .role = "curve",
                     .name = countText(static_cast<std::int64_t>(m_points.size())) + " steps, loss " +
                             lossText(m_points.front().loss) + " to " + lossText(last.loss) + ", last step " +
                             secondsText(last.seconds) +
                             (m_earlier.empty() ? std::string()
                                                : "; before, " + earlierName() + ": loss " + lossText(m_earlier.front().loss) +
                                                      " to " + lossText(m_earlier.back().loss)),
                     .rect = canvas.area()});
    }
}

bool CurvesView::pointer(const PointerEvent& event, Rect area)
{
    const auto before = m_hovered;
    m_hovered = event.kind == PointerEvent::Kind::leave ? std::nullopt : pointAt(event.at, area);
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && m_hovered && m_chosen)
        m_chosen(m_points[*m_hovered].step);
    return m_hovered != before || event.kind == PointerEvent::Kind::press;
}

bool CurvesView::command(ViewCommand command, bool, Rect)
{
    if ((command != ViewCommand::next && command != ViewCommand::previous) || !m_shown || !m_chosen)
        return false;
    const auto isBefore = [](const CurvePoint& point, int step) { return point.step < step; };
    const auto here = std::lower_bound(m_points.begin(), m_points.end(), *m_shown, isBefore);
    if (command == ViewCommand::previous) {
        if (here == m_points.begin())
            return false;
        m_chosen(std::prev(here)->step);
        return true;
    }
    const auto after = here != m_points.end() && here->step == *m_shown ? std::next(here) : here;
    if (after == m_points.end())
        return false;
    m_chosen(after->step);
    return true;
}

CursorShape CurvesView::cursor() const
{
    return m_hovered ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string CurvesView::tooltip() const
{
    if (!m_hovered || *m_hovered >= m_points.size())
        return {};
    const CurvePoint& point = m_points[*m_hovered];
    std::string text = "step " + countText(point.step);
    if (std::isfinite(point.loss))
        text += "\nloss " + lossText(point.loss);
    if (std::isfinite(point.gradientNorm))
        text += "\ngradient norm " + lossText(point.gradientNorm);
    if (std::isfinite(point.seconds))
        text += "\n" + secondsText(point.seconds) + " on the wall clock";
    if (std::isfinite(point.parallelSeconds))
        text += "\n" + secondsText(point.parallelSeconds) + " as if parallel";
    if (std::isfinite(point.tokensPerSecond))
        text += "\n" + countText(std::llround(point.tokensPerSecond)) + " tokens/s";
    return text + "\nclick to look at this step";
}

} // namespace app
