#include "app/views/plan/plan_guide_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/plan/plan_picture.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr float kGuideWide = 620, kGuideSide = 0.44F, kGuideGap = 10, kGateBar = 8, kVerdict = 34;

std::string guideDigits(const char* format, double value)
{
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

} // namespace

PlanGuideView::PlanGuideView(const Theme& theme) : PlanPageView(theme, "No guide yet") {}

void PlanGuideView::set(std::shared_ptr<const sim::PlanGuide> guide, std::optional<sim::PlannedLayout> planned)
{
    if (guide != m_guide)
        scrollToTop();
    m_guide = std::move(guide);
    m_planned = std::move(planned);
    m_cards.clear(); // of what was drawn before: a press ahead of the next frame would take one that is gone
    m_hovered.reset();
}

float PlanGuideView::drawPage(Canvas& canvas, Rect area)
{
    if (area.width() >= kGuideWide) {
        const float split = std::floor(area.right - area.width() * kGuideSide);
        const float gates = drawGates(canvas, {area.left + kMargin, area.top, split - kMargin, area.bottom});
        const Rect side{split, area.top, area.right - kMargin, area.bottom};
        const float cards = drawCards(canvas, side);
        return std::max(gates, drawTraffic(canvas, {side.left, cards + kGuideGap, side.right, side.bottom}));
    }
    const Rect column{area.left + kMargin, area.top, area.right - kMargin, area.bottom};
    const float gates = drawGates(canvas, column);
    const float cards = drawCards(canvas, {column.left, gates + kGuideGap, column.right, column.bottom});
    return drawTraffic(canvas, {column.left, cards + kGuideGap, column.right, column.bottom});
}

float PlanGuideView::drawGates(Canvas& canvas, Rect area) const
{
    const float bold = canvas.textHeight(FontFace::bold), small = canvas.textHeight(FontFace::small);
    float y = area.top;
    std::uint64_t id = 1;
    for (std::size_t i = 0; i < m_guide->gates.size(); ++i) {
        const sim::GuideGate& gate = m_guide->gates[i];
        const float begin = y;
        const Rect verdict{area.left, y, area.left + kVerdict, y + bold + 4};
        const Color color = gate.yes ? m_theme.accent : m_theme.warning;
        canvas.strokeRect(verdict, color, 2);
        textInside(canvas, verdict, gate.yes ? "yes" : "no", m_theme.text, FontFace::bold, Align::center);
        const Rect words{verdict.right + 8, y + 2, area.right, area.bottom};
        y = drawWrapped(canvas, words, gate.question, m_theme.text, FontFace::bold) + 3;
        if (gate.needGib > 0 && gate.haveGib > 0 && words.width() > 40) {
            const double most = std::max(gate.needGib, gate.haveGib * 1.25);
            const auto at = [&](double gib) { return words.left + words.width() * static_cast<float>(gib / most); };
            canvas.fillRect({words.left, y, at(gate.needGib), y + kGateBar}, gate.yes ? m_theme.heatAt(0.6) : m_theme.warning);
            canvas.fillRect({at(gate.haveGib) - 1, y - 2, at(gate.haveGib) + 1, y + kGateBar + 2}, m_theme.text);
            y += kGateBar + 4;
        }
        y = drawWrapped(canvas, {words.left, y, words.right, area.bottom}, gate.numbers, m_theme.mutedText, FontFace::small);
        y = drawWrapped(canvas, {words.left, y, words.right, area.bottom}, "→ " + gate.then, m_theme.text, FontFace::small);
        const float middle = std::floor(area.left + kVerdict / 2);
        if (i + 1 < m_guide->gates.size())
            canvas.fillRect({middle, verdict.bottom + 2, middle + 2, y + small / 2}, m_theme.border);
        if (canvas.wantsNodes())
            canvas.node({.id = id++,
                         .role = "text",
                         .name = gate.question + (gate.yes ? " Yes. " : " No. ") + gate.numbers + ". Then: " + gate.then,
                         .rect = {area.left, begin, area.right, y}});
        y += kGuideGap;
    }
    if (!m_guide->end.empty()) {
        const float begin = y;
        y = drawWrapped(canvas, {area.left, y, area.right, area.bottom}, "The path ends here: " + m_guide->end, m_theme.warning,
                        FontFace::small);
        if (canvas.wantsNodes())
            canvas.node({.id = id,
                         .role = "text",
                         .name = "The path ends here: " + m_guide->end,
                         .rect = {area.left, begin, area.right, y}});
    }
    return y;
}

float PlanGuideView::drawCards(Canvas& canvas, Rect area)
{
    const float bold = canvas.textHeight(FontFace::bold);
    float y = area.top;
    const auto card = [&](const std::string& head, const sim::PlannedLayout& layout, const std::string& more, bool isPath) {
        const Rect inner{area.left + 8, y + 5, area.right - 8, area.bottom};
        float end = inner.top + bold;
        const std::string time = durationText(layout.paceSeconds() * 1e9);
        const std::string numbers = (layout.batches == 1 ? time + " a step, " // a smaller batch: as many of its steps
                                                         : time + " for the whole batch, " +
                                                               durationText(layout.stepSeconds * 1e9) + " a step of its own, ") +
                                    bytesOfGibText(layout.peakMemoryGib) + (more.empty() ? "" : "; " + more);
        textInside(canvas, {inner.left, inner.top, inner.right, end}, fitting(canvas, {head}, inner.width(), FontFace::bold),
                   m_theme.text, FontFace::bold);
        end = drawWrapped(canvas, {inner.left, end + 2, inner.right, inner.bottom}, layoutText(layout), m_theme.text,
                          FontFace::small);
        end = drawWrapped(canvas, {inner.left, end, inner.right, inner.bottom}, numbers, m_theme.mutedText, FontFace::small) + 5;
        const Rect rect{area.left, y, area.right, end};
        canvas.strokeRect(rect, m_hovered == isPath ? m_theme.accent : m_theme.border, m_hovered == isPath ? 2.0F : 1.0F);
        m_cards.push_back({rect, isPath});
        if (canvas.wantsNodes())
            canvas.node({.id = isPath ? 100U : 101U,
                         .role = "button",
                         .name = head + ": " + layoutText(layout) + ", " + numbers,
                         .rect = rect});
        y = end + 6;
    };
    if (m_guide->layout)
        card("Where the path leads", *m_guide->layout, {}, true);
    if (m_planned) {
        std::string more;
        if (m_guide->layout) {
            const double change = m_planned->paceSeconds() / m_guide->layout->paceSeconds() - 1;
            more = std::abs(change) < 0.0005
                       ? "as long"
                       : guideDigits(change < 0 ? "%.1f %% shorter" : "%.1f %% longer", 100 * std::abs(change));
            std::vector<std::pair<std::int64_t, sim::StepPart>> deltas;
            for (const sim::StepPart part : sim::kStepParts)
                if (const std::int64_t delta =
                        PlanPicture::paceNs(*m_planned, part) - PlanPicture::paceNs(*m_guide->layout, part);
                    delta != 0)
                    deltas.emplace_back(delta, part);
            std::sort(deltas.begin(), deltas.end(),
                      [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
            for (std::size_t i = 0; i < deltas.size() && i < 3; ++i)
                more += (i == 0 ? ": " : ", ") + std::string(sim::factsOf(deltas[i].second).name) +
                        (deltas[i].first > 0 ? " +" : " −") + durationText(static_cast<double>(std::abs(deltas[i].first)));
            std::int64_t rest = 0; // so that what is told adds up to the difference
            for (std::size_t i = 3; i < deltas.size(); ++i)
                rest += deltas[i].first;
            if (rest != 0)
                more += std::string(", the rest") + (rest > 0 ? " +" : " −") + durationText(static_cast<double>(std::abs(rest)));
        }
        card("What the planner found", *m_planned, more, false);
    } else {
        y = drawWrapped(canvas, {area.left, y, area.right, area.bottom}, "Press Plan to lay the proved best beside it.",
                        m_theme.mutedText, FontFace::small);
    }
    return y;
}

float PlanGuideView::drawTraffic(Canvas& canvas, Rect area) const
{
    if (m_guide->traffic.empty())
        return area.top;
    const float bold = canvas.textHeight(FontFace::bold), small = canvas.textHeight(FontFace::small);
    float y = area.top;
    textInside(canvas, {area.left, y, area.right, y + bold},
               fitting(canvas, {"Where each dimension's traffic goes", "Where traffic goes"}, area.width(), FontFace::bold),
               m_theme.text, FontFace::bold);
    y += bold + 4;
    double most = 0;
    for (const sim::GuideTraffic& of : m_guide->traffic)
        most = std::max(most, of.gbPerGpu);
    std::uint64_t id = 200;
    for (const sim::GuideTraffic& of : m_guide->traffic) {
        const float begin = y;
        const std::string& name = of.name;
        const std::string gb = of.gbPerGpu >= 0.1 ? threeDigits(of.gbPerGpu) + " GB" : threeDigits(of.gbPerGpu * 1000) + " MB";
        const std::string network = sim::spokenNetwork(of.tier);
        const std::string where = of.outsideShare == 0 ? "all over " + network
                                  : of.outsideShare >= 0.9995
                                      ? "over " + network
                                      : guideDigits("%.0f %%", 100 * of.outsideShare) + " of it beyond the node, over " + network;
        std::string text = name;
        for (const std::string& part :
             {std::string(": "), gb, std::string(" a GPU and step, "), where, guideDigits(" (%g GB/s)", of.tierGBs),
              std::string(", waited for "), durationText(of.exposedSeconds * 1e9)})
            text += part;
        const float width = area.width() * static_cast<float>(most > 0 ? of.gbPerGpu / most : 0);
        const Color fill = m_theme.fill(sim::opClassOf(of.dimension));
        canvas.fillRect({area.left, y, area.left + std::max(2.0F, width), y + kGateBar}, fill);
        y += kGateBar + 1;
        y = drawWrapped(canvas, {area.left, y, area.right, area.bottom}, text, m_theme.text, FontFace::small) + small / 3;
        if (canvas.wantsNodes())
            canvas.node({.id = id++, .role = "text", .name = text, .rect = {area.left, begin, area.right, y}});
    }
    return y;
}

std::optional<bool> PlanGuideView::cardAt(Point at) const
{
    for (const Card& card : m_cards)
        if (card.rect.contains(at))
            return card.isPath;
    return std::nullopt;
}

bool PlanGuideView::pointer(const PointerEvent& event, Rect area)
{
    if (!m_guide)
        return false;
    if (event.kind == PointerEvent::Kind::wheel)
        return scrollByWheel(event, area);
    const auto before = m_hovered;
    m_hovered = event.kind == PointerEvent::Kind::leave ? std::nullopt : cardAt(event.at);
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && m_hovered && m_chosen) {
        m_chosen(*m_hovered ? *m_guide->layout : *m_planned, *m_hovered);
        return true;
    }
    return m_hovered != before;
}

bool PlanGuideView::command(ViewCommand command, bool fast, Rect area)
{
    if (!m_guide)
        return false;
    if (const auto moved = scrollByCommand(command, fast, area))
        return *moved;
    switch (command) {
    case ViewCommand::next:
    case ViewCommand::previous: {
        const bool isPath = command == ViewCommand::previous;
        if (!m_chosen || (isPath ? !m_guide->layout : !m_planned))
            return false;
        m_chosen(isPath ? *m_guide->layout : *m_planned, isPath);
        return true;
    }
    default:
        return false;
    }
}

CursorShape PlanGuideView::cursor() const
{
    return m_hovered ? CursorShape::pointingHand : CursorShape::arrow;
}

} // namespace app
