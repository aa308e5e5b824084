#include "app/views/timeline/timeline_memory.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/timeline/timeline_steps.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kRoomAbovePeak = 1.35;
/// The limit sets the scale if the peak comes this close to it; else a curve far below would be a line at the bottom.
constexpr double kCapacityInSight = 0.45;

double scaleOf(const MemoryCurve& curve)
{
    const auto peak = static_cast<double>(curve.peakBytes), capacity = static_cast<double>(curve.capacityBytes);
    const bool inSight = capacity > 0 && peak >= kCapacityInSight * capacity;
    return std::max({1.0, peak * kRoomAbovePeak, inSight ? capacity * 1.08 : 0.0});
}

std::string rowName(const TimelineModel& model, int row)
{
    const auto& names = model.rows()[static_cast<std::size_t>(row)].names;
    return names.empty() ? std::string() : names.front();
}

/// Whose bytes they are: where a row stands for several ranks, those of each.
std::string holders(const std::string& row)
{
    return row.ends_with(" ranks") ? "each of " + row : row;
}

} // namespace

std::optional<MemoryCurve> memoryCurve(const TimelineModel& model, const Selection& selection, int otherwise)
{
    const auto& rows = model.rows();
    int row = selection.focusRank() ? model.rowOfRank(*selection.focusRank()) : otherwise;
    if (row < 0 || !rows[static_cast<std::size_t>(row)].memory) {
        const auto first = std::find_if(rows.begin(), rows.end(), [](const TimelineRow& r) { return r.memory.has_value(); });
        if (first == rows.end())
            return std::nullopt;
        row = static_cast<int>(first - rows.begin());
    }
    MemoryCurve curve{.row = row, .counter = *rows[static_cast<std::size_t>(row)].memory};
    const CounterLevels& levels = model.counter(curve.counter);
    curve.peakBytes = levels.peak();
    curve.peakNs = levels.peakNs();
    if (const sim::Simulation* simulation = model.simulation()) {
        // A simulated step begins with the model's states and nothing else.
        const auto& values = model.trace().counters[curve.counter].value;
        curve.statesBytes = values.empty() ? 0 : values.front();
        constexpr double kGib = 1024.0 * 1024 * 1024;
        curve.capacityBytes = std::llround(simulation->scenario().cluster.gpu.memoryGib * kGib);
    }
    return curve;
}

void paintCounter(Canvas& canvas, const CounterLevels& counter, const TimeAxis& axis, Rect area, double scaleBytes, Color fill)
{
    std::vector<std::int64_t> edges{std::llround(axis.ns(area.left))};
    for (float x = area.left; x < area.right; ++x)
        edges.push_back(std::max<std::int64_t>(edges.back() + 1, std::llround(axis.ns(x + 1))));
    float openHeight = -1, openLeft = area.left, x = area.left;
    const auto scale = static_cast<float>(scaleBytes);
    for (const std::int64_t highest : counter.highestBetween(edges)) {
        const float height = std::round(area.height() * static_cast<float>(highest) / scale * 2) / 2;
        if (height != openHeight) {
            if (openHeight > 0)
                canvas.fillRect({openLeft, area.bottom - openHeight, x, area.bottom}, fill);
            openHeight = height;
            openLeft = x;
        }
        ++x;
    }
    if (openHeight > 0)
        canvas.fillRect({openLeft, area.bottom - openHeight, area.right, area.bottom}, fill);
}

void paintMemory(Canvas& canvas, const TimelineScene& scene)
{
    const Rect lane = scene.frame.memory;
    const std::optional<SpanRef> now = scene.steps ? scene.steps->now() : std::nullopt;
    const auto curve = memoryCurve(scene.model(), scene.selection, now ? scene.model().rowOf(now->track) : -1);
    if (lane.height() <= 0 || !curve)
        return;
    const Theme& theme = scene.theme;
    const TimeAxis axis = scene.axis();
    const std::int64_t knownUntilNs = now ? scene.model().endNs(*now) : scene.model().trace().endNs;
    const float endX = std::clamp(axis.x(static_cast<double>(knownUntilNs)), lane.left, lane.right);
    const double scale = scaleOf(*curve);
    const auto y = [&](std::int64_t bytes) {
        return std::floor(lane.bottom - lane.height() * static_cast<float>(static_cast<double>(bytes) / scale));
    };

    canvas.pushClip(lane);
    const Color empty = mix(theme.canvas, theme.text, 0.045F);
    canvas.fillRect({lane.left, lane.top, endX, lane.bottom}, empty);
    const Color activations = mix(theme.canvas, theme.activations, theme.dark ? 0.75F : 0.85F);
    const Color states = mix(theme.canvas, theme.parameters, theme.dark ? 0.75F : 0.6F);
    paintCounter(canvas, scene.model().counter(curve->counter), axis, {lane.left, lane.top, endX, lane.bottom}, scale,
                 activations);
    if (curve->statesBytes > 0) {
        const Rect band{lane.left, y(curve->statesBytes), endX, lane.bottom};
        canvas.fillRect(band, states);
        constexpr float kBeforeText = 6;
        const Rect inside = {band.left + kBeforeText, band.top, band.right, band.bottom};
        textInside(canvas, inside, fitting(canvas, {"weights, gradients, optimizer", "states"}, inside.width(), FontFace::small),
                   readableOn(states), FontFace::small);
    }
    canvas.popClip();

    const bool over = curve->capacityBytes > 0 && curve->peakBytes > curve->capacityBytes;
    if (const float limitY = y(curve->capacityBytes); curve->capacityBytes > 0 && limitY >= lane.top)
        canvas.line({lane.left, limitY}, {endX, limitY}, over ? theme.error : theme.warning, 1, LineStyle::dashed);
    // Peak: a level line, and its place where it is in sight.
    const float peakY = y(curve->peakBytes), peakX = axis.x(static_cast<double>(curve->peakNs));
    canvas.line({lane.left, peakY}, {endX, peakY}, theme.mutedText, 1, LineStyle::dotted);
    const float small = canvas.textHeight(FontFace::small);
    Rect peakWords{};
    if (peakX >= lane.left && peakX < endX) {
        canvas.fillConvex({{peakX, peakY + 1}, {peakX - 4, peakY - 5}, {peakX + 4, peakY - 5}}, theme.text);
        const std::string text = "peak " + bytesText(static_cast<double>(curve->peakBytes));
        const float width = canvas.textWidth(text, FontFace::small);
        const float left = peakX + 8 + width <= endX ? peakX + 8 : peakX - 8 - width;
        if (left >= lane.left && peakY - small - 1 >= lane.top) {
            // The limit's line may run behind the words.
            canvas.fillRect({std::floor(left) - 2, peakY - small - 1, std::floor(left) + width + 2, peakY}, empty);
            canvas.text({std::floor(left), peakY - small - 1}, text, theme.text, FontFace::small);
            peakWords = {left, peakY - small - 1, left + width, peakY};
        }
    }

    const Rect gutter{scene.frame.gutter.left, lane.top, scene.frame.gutter.right, lane.bottom};
    const std::string peak = bytesText(static_cast<double>(curve->peakBytes));
    const std::string of = curve->capacityBytes > 0 ? " of " + bytesText(static_cast<double>(curve->capacityBytes)) : "";
    const auto& names = scene.model().rows()[static_cast<std::size_t>(curve->row)].names;
    std::vector<std::string> titles;
    for (const std::string& name : names)
        if (name.find_first_not_of("0123456789,") != std::string::npos)
            titles.push_back("memory · " + name);
    titles.insert(titles.end(), names.begin(), names.end());
    const std::string title = fitting(canvas, titles, gutter.width());
    const std::string what = title.starts_with("memory") ? "peak " : "memory ";
    const float body = canvas.textHeight(FontFace::body);
    const float top = std::floor((lane.top + lane.bottom - body - small) / 2);
    if (body + small <= lane.height()) {
        canvas.text({gutter.left, top}, title, theme.text, FontFace::body);
        const std::string told =
            fitting(canvas, {what + peak + of, peak + of, what + peak, peak}, gutter.width(), FontFace::small);
        canvas.text({gutter.left, top + body}, told, over ? theme.error : theme.mutedText, FontFace::small);
        // What a narrow gutter does not say of the limit stands at its line, where the memory leaves room.
        const float limitY = y(curve->capacityBytes);
        const std::string limit = bytesText(static_cast<double>(curve->capacityBytes));
        const Rect words{lane.left + 6, limitY + 1, lane.left + 6 + canvas.textWidth(limit, FontFace::small), limitY + 1 + small};
        const Rect both = intersected(words.inset(-4), peakWords);
        if (!of.empty() && !told.ends_with(of) && limitY >= lane.top && words.bottom <= peakY && words.right <= endX &&
            !(both.width() > 0 && both.height() > 0))
            canvas.text({words.left, words.top}, limit, theme.warning, FontFace::small);
    }
    if (canvas.wantsNodes())
        canvas.node({.id = nodeId(TimelineNode::memory),
                     .role = "memory",
                     .name = "memory of " + rowName(scene.model(), curve->row) + ", peak " + peak + of + " at " +
                             durationText(static_cast<double>(curve->peakNs)),
                     .rect = {gutter.left, lane.top, lane.right, lane.bottom}});
}

std::string memoryText(const TimelineModel& model, const MemoryCurve& curve, std::int64_t beginNs, std::int64_t endNs)
{
    const std::int64_t held = model.counter(curve.counter).highest(beginNs, endNs);
    std::string text = bytesText(static_cast<double>(held)) + " held by " + holders(rowName(model, curve.row)) + "\nat " +
                       durationText(static_cast<double>(beginNs));
    if (curve.statesBytes > 0)
        text += "\n" + bytesText(static_cast<double>(curve.statesBytes)) + " weights, gradients, optimizer\n" +
                bytesText(static_cast<double>(std::max<std::int64_t>(held - curve.statesBytes, 0))) +
                " activations and buffers of passes";
    text +=
        "\npeak " + bytesText(static_cast<double>(curve.peakBytes)) + " at " + durationText(static_cast<double>(curve.peakNs));
    if (curve.capacityBytes > 0)
        text += " · GPU " + bytesText(static_cast<double>(curve.capacityBytes));
    return text;
}

} // namespace app
