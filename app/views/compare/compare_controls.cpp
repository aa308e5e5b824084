#include "app/views/compare/compare_controls.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr int kBlend = 3, kButtons = 4, kSlider = kButtons;
constexpr std::array<std::array<const char*, 2>, kButtons> kTexts{
    {{"Same start", "Start"}, {"Same end", "End"}, {"Equal length", "Scaled"}, {"Blend", "Blend"}}};
constexpr std::uint64_t kControlNodes = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 56);
constexpr float kControlPadding = 10, kWidestSlider = 320, kNarrowestSlider = 90, kKnob = 7;

} // namespace

void CompareControls::align(Alignment alignment)
{
    m_choice.alignment = alignment;
    m_choice.isBlending = false;
}

void CompareControls::setBlend(double share)
{
    if (!canBlend())
        return;
    m_choice.isBlending = true;
    m_choice.blend = std::clamp(share, 0.0, 1.0);
}

void CompareControls::setPipelines(int a, int b)
{
    m_lengthA = a;
    m_lengthB = b;
    if (!canBlend())
        m_choice.isBlending = false;
}

std::string CompareControls::whatIs(int button) const
{
    switch (button) {
    case 0:
        return "Same start: both steps begin together";
    case 1:
        return "Same end: both steps end together";
    case 2:
        return "Equal length: each step fills the width, at its own scale";
    case kBlend:
        if (!canBlend() && m_lengthA > 0 && m_lengthB > 0)
            return "Blend: only for equally long pipelines; these have " + countText(m_lengthA) + " and " + countText(m_lengthB) +
                   " ranks";
        return "Blend: A becomes B, action by action";
    default:
        return "Blend, " + percentText(m_choice.blend) + " of the way from A to B; keys , and .";
    }
}

bool CompareControls::isChosen(int button) const
{
    return button == kBlend ? m_choice.isBlending : !m_choice.isBlending && static_cast<int>(m_choice.alignment) == button;
}

void CompareControls::paint(Canvas& canvas, const Theme& theme, Rect area)
{
    canvas.fillRect(area, theme.panel);
    canvas.fillRect({area.left, area.top, area.right, area.top + 1}, theme.border);
    m_places.clear();
    const auto widthOf = [&](std::size_t variant) {
        float width = 0;
        for (const auto& texts : kTexts)
            width += canvas.textWidth(texts[variant]) + 2 * kControlPadding;
        return width;
    };
    const std::size_t variant = widthOf(0) + kNarrowestSlider + 2 * kMargin <= area.width() ? 0 : 1;
    const float top = area.top + 5, bottom = area.bottom - 4;
    float x = area.left + kMargin;
    if (x + widthOf(variant) > area.right)
        return;
    for (int button = 0; button < kButtons; ++button) {
        const char* text = kTexts[static_cast<std::size_t>(button)][variant];
        const Rect rect{x, top, std::floor(x + canvas.textWidth(text) + 2 * kControlPadding), bottom};
        const bool chosen = isChosen(button), enabled = button != kBlend || canBlend();
        canvas.fillRect(rect, chosen ? theme.accent : theme.canvas);
        if (!chosen && enabled && m_pointed == button)
            canvas.fillRect(rect, theme.hover);
        canvas.strokeRect(rect, chosen ? theme.accent : theme.border);
        const Color color = chosen ? readableOn(theme.accent) : enabled ? theme.text : theme.mutedText;
        textInside(canvas, {rect.left + kControlPadding, rect.top, rect.right, rect.bottom}, text, color);
        if (canvas.wantsNodes())
            canvas.node({.id = kControlNodes + static_cast<std::uint64_t>(button),
                         .role = "button",
                         .name = whatIs(button),
                         .rect = rect,
                         .selected = chosen});
        m_places.push_back({rect, button});
        x = rect.right - 1;
    }
    if (!canBlend() || area.right - x < kNarrowestSlider + 3 * kMargin)
        return;
    // A ──●── B; it is there before one blends, as that is what dragging it begins.
    const Color color = m_choice.isBlending ? theme.text : theme.mutedText;
    const float letter = 14;
    const Rect slider{x + 2 * kMargin + letter, top,
                      std::min(x + 2 * kMargin + letter + kWidestSlider, area.right - kMargin - letter - 48), bottom};
    if (slider.width() < kNarrowestSlider - 2 * letter)
        return;
    const float middle = std::floor((slider.top + slider.bottom) / 2);
    const float knob = std::floor(slider.left + slider.width() * static_cast<float>(m_choice.blend));
    textInside(canvas, {slider.left - letter - 4, top, slider.left, bottom}, "A", color, FontFace::bold);
    textInside(canvas, {slider.right + 8, top, slider.right + 8 + letter, bottom}, "B", color, FontFace::bold);
    canvas.fillRect({slider.left, middle - 1, slider.right, middle + 1}, theme.border);
    if (m_choice.isBlending)
        canvas.fillRect({slider.left, middle - 1, knob, middle + 1}, theme.accent);
    const Rect handle{knob - kKnob + 2, middle - kKnob, knob + kKnob - 2, middle + kKnob};
    canvas.fillRect(handle, m_choice.isBlending ? theme.accent : theme.panel);
    canvas.strokeRect(handle, m_pointed == kSlider || m_choice.isBlending ? theme.accent : theme.mutedText);
    if (m_choice.isBlending)
        textInside(canvas, {slider.right + 8 + letter, top, area.right - 4, bottom}, percentText(m_choice.blend), theme.mutedText,
                   FontFace::small);
    const Rect place{slider.left - kKnob, top, slider.right + kKnob, bottom};
    if (canvas.wantsNodes())
        canvas.node({.id = kControlNodes + kSlider,
                     .role = "slider",
                     .name = whatIs(kSlider),
                     .rect = place,
                     .selected = m_choice.isBlending});
    m_places.push_back({place, kSlider});
}

int CompareControls::buttonAt(Point at) const
{
    for (const Place& place : m_places)
        if (place.rect.contains(at))
            return place.button;
    return -1;
}

void CompareControls::choose(int button)
{
    if (button == kBlend)
        setBlend(m_choice.blend);
    else if (button >= 0 && button < kBlend)
        align(static_cast<Alignment>(button));
}

bool CompareControls::pointer(const PointerEvent& event, Rect, bool held)
{
    const int pointed = event.kind == PointerEvent::Kind::leave ? -1 : buttonAt(event.at);
    const bool changed = pointed != m_pointed;
    m_pointed = pointed;
    if (!held || event.kind == PointerEvent::Kind::leave) {
        m_slides = false;
        return changed;
    }
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left) {
        m_slides = pointed == kSlider;
        choose(pointed);
    }
    if (m_slides) {
        const Rect slider = m_places.back().rect.inset(kKnob);
        setBlend(static_cast<double>((event.at.x - slider.left) / slider.width()));
    }
    if (event.kind == PointerEvent::Kind::release)
        m_slides = false;
    return true;
}

CursorShape CompareControls::cursor() const
{
    return m_slides || m_pointed == kSlider                        ? CursorShape::resizeHorizontal
           : m_pointed >= 0 && (m_pointed != kBlend || canBlend()) ? CursorShape::pointingHand
                                                                   : CursorShape::arrow;
}

std::string CompareControls::tooltip() const
{
    return m_pointed >= 0 ? whatIs(m_pointed) : std::string();
}

} // namespace app
