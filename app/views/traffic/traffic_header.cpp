#include "app/views/traffic/traffic_header.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr std::array<const char*, kTrafficModeCount> kModes{"Matrix", "Diagram", "Load"};
constexpr float kSpace = 16, kSwatch = 11, kPadding = 9, kLowest = 150;

double exposedOf(const TrafficScene& scene, sim::Dimension purpose)
{
    return scene.model.simulation().metrics().exposedComm[purpose];
}

/// "NVLink", or "NVLink 89.0 %, InfiniBand 11.0 %".
std::string tiersText(const TrafficScene& scene, sim::Dimension purpose)
{
    const sim::TrafficSums& sums = scene.model.sums();
    const auto all = static_cast<double>(sums.ofDimension(purpose));
    std::string text;
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        const auto bytes = static_cast<double>(sums.bytes(tier, purpose));
        if (bytes <= 0)
            continue;
        const std::string name = sim::spokenNetwork(scene.model.tiers()[static_cast<std::size_t>(tier)].name);
        text += (text.empty() ? "" : ", ") + (bytes >= all ? name : name + " " + percentText(bytes / all));
    }
    return text;
}

class TrafficHeaderPainter {
public:
    TrafficHeaderPainter(Canvas& canvas, const TrafficScene& scene, const TrafficChoice& choice)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_choice(choice)
    {
    }

    TrafficHeader paint()
    {
        const Rect area = m_canvas.area();
        constexpr float kChipRow = 32;
        m_header.bottom = area.top + kChipRow;
        const Rect row{area.left + kMargin, area.top + 5, area.right - kMargin, area.top + kChipRow - 5};
        const float end = m_choice.onlyTold ? textInside(m_canvas, row, kModes[static_cast<std::size_t>(m_choice.mode)],
                                                         m_theme.text, FontFace::bold) +
                                                  row.left
                                            : chips(row);
        total({end + kSpace, row.top, row.right, row.bottom});
        strip({row.left, m_header.bottom, row.right, area.bottom}, area.height() >= kLowest);
        return std::move(m_header);
    }

private:
    float chips(Rect row);
    float chip(float x, Rect row, const std::string& text, bool chosen, const char* role, std::uint64_t id,
               const TrafficHeader::Chip& what);
    void total(Rect);
    void strip(Rect, bool hasRoom);
    std::vector<sim::Dimension> present() const;

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    const TrafficChoice& m_choice;
    TrafficHeader m_header;
};

float TrafficHeaderPainter::chip(float x, Rect row, const std::string& text, bool chosen, const char* role, std::uint64_t id,
                                 const TrafficHeader::Chip& what)
{
    const Rect rect{x, row.top, x + std::ceil(m_canvas.textWidth(text, FontFace::small)) + 2 * kPadding, row.bottom};
    if (chosen)
        m_canvas.fillRect(rect, m_theme.accent);
    m_canvas.strokeRect(rect, chosen ? m_theme.accent : m_theme.border);
    textInside(m_canvas, {rect.left, rect.top, rect.right, rect.bottom}, text, chosen ? readableOn(m_theme.accent) : m_theme.text,
               FontFace::small, Align::center);
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = id, .role = role, .name = text, .rect = rect, .selected = chosen});
    m_header.chips.push_back(what);
    m_header.chips.back().rect = rect;
    return rect.right;
}

float TrafficHeaderPainter::chips(Rect row)
{
    const std::array<std::string, kTrafficLevelCount> levels{"ranks", m_scene.model.boxName() + "s", "pipeline"};
    float x = row.left;
    for (int mode = 0; mode < kTrafficModeCount; ++mode)
        x = chip(x, row, kModes[static_cast<std::size_t>(mode)], static_cast<int>(m_choice.mode) == mode, "mode",
                 kTrafficModeNodes + static_cast<std::uint64_t>(mode), {.rect = {}, .mode = static_cast<TrafficMode>(mode)}) -
            1;
    if (m_choice.mode != TrafficMode::matrix)
        return x;
    std::vector<TrafficLevel> offered;
    float width = kSpace;
    for (int level = 0; level < kTrafficLevelCount; ++level)
        if (m_scene.model.offers(static_cast<TrafficLevel>(level))) {
            offered.push_back(static_cast<TrafficLevel>(level));
            width += m_canvas.textWidth(levels[static_cast<std::size_t>(level)], FontFace::small) + 2 * kPadding;
        }
    if (offered.size() < 2 || x + width > row.right)
        return x;
    x += kSpace;
    for (const TrafficLevel level : offered)
        x = chip(x, row, levels[static_cast<std::size_t>(level)], m_choice.level == level, "level",
                 kTrafficLevelNodes + static_cast<std::uint64_t>(level), {.rect = {}, .level = level}) -
            1;
    return x;
}

std::vector<sim::Dimension> TrafficHeaderPainter::present() const
{
    std::vector<sim::Dimension> purposes;
    for (const sim::Dimension purpose : sim::kDimensions)
        if (m_scene.model.sums().ofDimension(purpose) > 0)
            purposes.push_back(purpose);
    return purposes;
}

void TrafficHeaderPainter::total(Rect area)
{
    const TrafficModel& model = m_scene.model;
    const std::string sum = bytesText(static_cast<double>(shownBytes(model.sums().byDimension(), m_scene.selection)));
    const std::string ranks = countText(model.senderCount());
    const std::string by = model.isRestricted() ? " by the " + ranks + " selected ranks" : " by " + ranks + " ranks";
    textInside(m_canvas, area,
               fitting(m_canvas, {sum + " sent in a step" + by, sum + " sent" + by, sum + by, sum + " sent", sum}, area.width(),
                       FontFace::bold),
               model.isRestricted() ? m_theme.accent : m_theme.text, FontFace::bold, Align::right);
}

/// The purposes side by side, with as much said of each as there is room for; where even their names have none, on lines below
/// each other. `hasRoom`: for more than their names.
void TrafficHeaderPainter::strip(Rect area, bool hasRoom)
{
    const std::vector<sim::Dimension> purposes = present();
    const float body = m_canvas.textHeight(FontFace::body), small = m_canvas.textHeight(FontFace::small);
    struct Item {
        std::string first, second;
        float width = 0;
        bool marked = false;
    };
    std::vector<Item> items;
    float width = 0;
    for (int detail = hasRoom ? 4 : 0; detail >= 0; --detail) { // how much is said of each
        items.clear();
        width = -kSpace;
        for (const sim::Dimension purpose : purposes) {
            const std::string name = sim::purposeName(m_scene.model.simulation(), purpose);
            const std::string tiers = tiersText(m_scene, purpose), exposed = percentText(exposedOf(m_scene, purpose));
            Item item;
            item.first =
                name + (detail >= 1 ? " " + bytesText(static_cast<double>(m_scene.model.sums().ofDimension(purpose))) : "");
            item.second = detail == 4   ? tiers + " · " + exposed + " of the step exposed"
                          : detail == 3 ? tiers + " · " + exposed + " exposed"
                          : detail == 2 ? exposed + " exposed"
                                        : "";
            item.width = kSwatch + 6 +
                         std::max(m_canvas.textWidth(item.first, FontFace::body) + (detail >= 1 ? kMarkWidth : 0),
                                  m_canvas.textWidth(item.second, FontFace::small));
            item.marked = detail >= 1;
            width += item.width + kSpace;
            items.push_back(std::move(item));
        }
        if (width <= area.width())
            break;
    }
    if (purposes.empty())
        return;
    const bool two = !items.front().second.empty();
    const float height = body + (two ? small + 2 : 0);
    constexpr float kBetweenLines = 3;
    float x = area.left, bottom = area.top + height;
    for (std::size_t i = 0; i < purposes.size(); ++i) {
        const sim::Dimension purpose = purposes[i];
        const bool shown = m_scene.shows(purpose);
        if (x > area.left && x + items[i].width > area.right) {
            x = area.left;
            area.top = bottom + kBetweenLines;
            bottom = area.top + height;
        }
        const Rect rect{x, area.top, x + items[i].width, bottom};
        const Rect swatch{x, area.top + std::floor((body - kSwatch) / 2), x + kSwatch,
                          area.top + std::floor((body - kSwatch) / 2) + kSwatch};
        if (shown)
            m_canvas.fillRect(swatch, m_scene.fill(purpose));
        else
            m_canvas.strokeRect(swatch, m_theme.mutedText);
        const float left = x + kSwatch + 6;
        const float textWidth = textInside(m_canvas, {left, area.top, rect.right + 1, area.top + body}, items[i].first,
                                           shown ? m_theme.text : m_theme.mutedText);
        if (!shown) // left out: struck through
            m_canvas.fillRect({left, area.top + std::floor(body / 2), left + textWidth, area.top + std::floor(body / 2) + 1},
                              m_theme.mutedText);
        textInside(m_canvas, {left, area.top + body + 1, rect.right + 1, area.top + body + 1 + small}, items[i].second,
                   m_theme.mutedText, FontFace::small);
        if (m_canvas.wantsNodes())
            m_canvas.node({.id = kTrafficPurposeNodes + static_cast<std::uint64_t>(purpose),
                           .role = "purpose",
                           .name = purposeText(m_scene, purpose),
                           .rect = rect,
                           .selected = shown});
        m_header.chips.push_back({.rect = rect, .purpose = purpose});
        if (items[i].marked)
            paintMark(m_canvas, m_scene, {left + textWidth, area.top, left + textWidth + kMarkWidth, area.top + body},
                      {.purpose = purpose});
        x = rect.right + kSpace;
    }
    m_header.bottom = bottom + 7;
    m_canvas.fillRect({area.left - kMargin, m_header.bottom, area.right + kMargin, m_header.bottom + 1}, m_theme.border);
    ++m_header.bottom;
}

} // namespace

const TrafficHeader::Chip* TrafficHeader::under(Point at) const
{
    const auto found = std::find_if(chips.begin(), chips.end(), [&](const Chip& chip) { return chip.rect.contains(at); });
    return found == chips.end() ? nullptr : &*found;
}

std::string purposeText(const TrafficScene& scene, sim::Dimension purpose)
{
    return sim::purposeName(scene.model.simulation(), purpose) + " " +
           bytesText(static_cast<double>(scene.model.sums().ofDimension(purpose))) + ", " + tiersText(scene, purpose) + ", " +
           percentText(exposedOf(scene, purpose)) + " of the step exposed";
}

TrafficHeader paintTrafficHeader(Canvas& canvas, const TrafficScene& scene, const TrafficChoice& choice)
{
    return TrafficHeaderPainter(canvas, scene, choice).paint();
}

} // namespace app
