#include "app/views/plan/plan_sizes_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/plan/plan_picture.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace app {
namespace {

constexpr float kSizesGap = 3, kWidestSize = 150;
constexpr double kSecondsADay = 86400;

} // namespace

std::string tokensText(double tokens)
{
    for (const auto& [size, letter] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}})
        if (tokens >= size)
            return sim::numberText(tokens / size, sim::Unit::number) + letter;
    return sim::numberText(tokens, sim::Unit::number);
}

double tokensADay(const sim::PlannedLayout& layout)
{
    return layout.tokensPerSecond * kSecondsADay;
}

std::string planSizeText(const PlanSize& size)
{
    const std::string gpus = sim::countedText(size.gpus, "GPU") + ": ";
    if (!size.isSearched)
        return gpus + "not searched yet; press to search";
    if (!size.best)
        return gpus + (size.isProved ? "nothing fits" : "nothing that fits was found");
    // Steps of unlike batches are not to be compared: tokens are.
    const std::string step =
        size.best->batches == 1 ? "step " + sim::numberText(size.best->stepSeconds, sim::Unit::seconds) + ", " : "";
    return gpus + step + tokensText(tokensADay(*size.best)) + " tokens a day, " + layoutText(*size.best) +
           (size.isProved ? ", proved best" : ", not proved");
}

void PlanSizesView::set(std::vector<PlanSize> sizes)
{
    m_sizes = std::move(sizes);
    m_hovered.reset();
}

Rect PlanSizesView::cell(Rect area, std::size_t place) const
{
    const float count = static_cast<float>(std::max<std::size_t>(1, m_sizes.size()));
    const float width = std::min(kWidestSize, area.width() / count), left = area.left + width * static_cast<float>(place);
    return {std::floor(left), area.top, std::floor(left + width) - kSizesGap, area.bottom};
}

void PlanSizesView::draw(Canvas& canvas)
{
    const Rect area = canvas.area();
    canvas.fillRect(area, m_theme.canvas);
    double most = 0;
    for (const PlanSize& size : m_sizes)
        if (size.best)
            most = std::max(most, tokensADay(*size.best));
    const float line = canvas.textHeight(FontFace::small) + 1;
    for (std::size_t i = 0; i < m_sizes.size(); ++i) {
        const PlanSize& size = m_sizes[i];
        const Rect rect = cell(area, i);
        const Rect label{rect.left, rect.bottom - line, rect.right, rect.bottom};
        const Rect room{rect.left, rect.top + 1, rect.right, label.top - 1};
        const Color ink = size.isShown ? m_theme.text : m_theme.mutedText;
        const std::string gpus = sim::numberText(size.gpus, sim::Unit::count);
        textInside(canvas, label,
                   fitting(canvas, {gpus + (size.gpus == 1 ? " GPU" : " GPUs"), gpus}, rect.width(), FontFace::small), ink,
                   FontFace::small, Align::center);
        if (size.best && most > 0) {
            const float height = std::max(2.0F, room.height() * static_cast<float>(tokensADay(*size.best) / most));
            const Rect bar{room.left, std::floor(room.bottom - height), room.right, room.bottom};
            canvas.fillRect(bar, m_theme.heatAt(size.isShown ? 0.55 : 0.22));
            // Above its bar where there is room, else on it.
            const bool isAbove = bar.top - room.top >= 2 * line;
            const float top = isAbove ? bar.top - 2 * line : std::max(room.top, std::floor((bar.top + bar.bottom) / 2 - line));
            const Color on = isAbove ? ink : readableOn(m_theme.heatAt(size.isShown ? 0.55 : 0.22));
            const std::string tokens = tokensText(tokensADay(*size.best));
            const std::string step = sim::numberText(size.best->stepSeconds, sim::Unit::seconds);
            const std::vector<std::string> texts =
                size.best->batches == 1
                    ? std::vector{step + " · " + tokens + " tokens a day", step + " · " + tokens + "/day", step}
                    : std::vector{tokens + " tokens a day", tokens + "/day"};
            textInside(canvas, {rect.left, top, rect.right, top + line},
                       fitting(canvas, texts, rect.width() - 4, FontFace::small), on, FontFace::small, Align::center);
            const sim::PlanGrid& grid = size.best->grid;
            const std::string brief = std::to_string(grid.tp) + (grid.cp > 1 ? "×" + std::to_string(grid.cp) : "") + "×" +
                                      std::to_string(grid.pp) + "×" + std::to_string(grid.dp); // whose product are the GPUs
            textInside(canvas, {rect.left, top + line, rect.right, top + 2 * line},
                       fitting(canvas, {grid.text(), brief}, rect.width() - 4, FontFace::small), on, FontFace::small,
                       Align::center);
        } else {
            canvas.strokeRect(room, mix(m_theme.canvas, m_theme.text, 0.25F), 1, LineStyle::dashed);
            textInside(canvas, room,
                       fitting(canvas,
                               !size.isSearched ? std::vector<std::string>{"not searched", "?"}
                               : size.isProved  ? std::vector<std::string>{"nothing fits", "none"}
                                                : std::vector<std::string>{"none found", "?"},
                               rect.width() - 4, FontFace::small),
                       m_theme.mutedText, FontFace::small, Align::center);
        }
        if (size.isShown || m_hovered == i)
            canvas.strokeRect(room, size.isShown ? m_theme.text : m_theme.mutedText, 1);
        if (canvas.wantsNodes())
            canvas.node({.id = i + 1, .role = "cell", .name = planSizeText(size), .rect = rect, .selected = size.isShown});
    }
}

bool PlanSizesView::pointer(const PointerEvent& event, Rect area)
{
    std::optional<std::size_t> under;
    if (event.kind != PointerEvent::Kind::leave)
        for (std::size_t i = 0; i < m_sizes.size(); ++i)
            if (cell(area, i).contains(event.at))
                under = i;
    const bool isAnother = under != m_hovered;
    m_hovered = under;
    if (under && event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && m_chosen) {
        m_chosen(m_sizes[*under].gpus);
        return true;
    }
    return isAnother;
}

std::optional<int> gpusAfter(const std::vector<PlanSize>& sizes, ViewCommand command)
{
    const bool isNext = command == ViewCommand::next || command == ViewCommand::stepRight;
    if (sizes.empty() || (!isNext && command != ViewCommand::previous && command != ViewCommand::stepLeft))
        return {};
    const auto shown = std::find_if(sizes.begin(), sizes.end(), [](const PlanSize& size) { return size.isShown; });
    const auto at = shown == sizes.end() ? std::ptrdiff_t{0} : (shown - sizes.begin()) + (isNext ? 1 : -1);
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(sizes.size()))
        return {};
    return sizes[static_cast<std::size_t>(at)].gpus;
}

bool PlanSizesView::command(ViewCommand command, bool, Rect)
{
    const std::optional<int> gpus = gpusAfter(m_sizes, command);
    if (gpus && m_chosen)
        m_chosen(*gpus);
    return gpus && m_chosen;
}

std::string PlanSizesView::tooltip() const
{
    return m_hovered && *m_hovered < m_sizes.size() ? planSizeText(m_sizes[*m_hovered]) : std::string();
}

} // namespace app
