#include "app/views/common/theme.h"

#include "app/views/common/color.h"

#include <algorithm>

namespace app {
namespace {

constexpr Color kInk = Color::rgb(0x0B0D10);

/// What the themes share. Hues of Okabe and Ito; wine (ep) is Tol's, the ninth that all eyes tell apart.
Theme baseTheme()
{
    struct ClassColor {
        sim::OpClass opClass;
        Color fill, text;
    };
    constexpr std::array<ClassColor, sim::kOpClassCount> kClasses{{
        {sim::OpClass::forward, Color::rgb(0x0072B2), kWhite},
        {sim::OpClass::backward, Color::rgb(0xE69F00), kInk},
        {sim::OpClass::backwardInput, Color::rgb(0xF3BE5A), kInk},
        {sim::OpClass::backwardWeight, Color::rgb(0x009E73), kInk},
        {sim::OpClass::recompute, Color::rgb(0xA9B8EA), kInk},
        {sim::OpClass::optimizer, Color::rgb(0xD55E00), kInk},
        {sim::OpClass::tpComm, Color::rgb(0x56B4E9), kInk},
        {sim::OpClass::cpComm, Color::rgb(0xCC79A7), kInk},
        {sim::OpClass::epComm, Color::rgb(0x882255), kWhite},
        {sim::OpClass::ppComm, Color::rgb(0xF0E442), kInk},
        {sim::OpClass::dpComm, Color::rgb(0x999999), kInk},
        {sim::OpClass::hostTransfer, Color::rgb(0x8C6D46), kWhite},
        {sim::OpClass::other, Color::rgb(0x667080), kWhite},
    }};
    Theme theme;
    for (const ClassColor& entry : kClasses) {
        theme.opClass[static_cast<std::size_t>(entry.opClass)] = entry.fill;
        theme.opClassText[static_cast<std::size_t>(entry.opClass)] = entry.text;
    }
    theme.parameters = Color::rgb(0x4B4FA8);
    theme.gradients = Color::rgb(0xE69F00);
    theme.optimizer = Color::rgb(0xD55E00);
    theme.activations = Color::rgb(0x74C9B8);
    theme.buffers = Color::rgb(0x8C8C94);
    return theme;
}

Color rampAt(const std::array<Color, 9>& ramp, double share)
{
    const auto last = static_cast<double>(ramp.size() - 1);
    const double place = std::clamp(share, 0.0, 1.0) * last;
    const auto below = static_cast<std::size_t>(std::min(place, last - 1));
    return mix(ramp[below], ramp[below + 1], static_cast<float>(place - static_cast<double>(below)));
}

} // namespace

Color Theme::heatAt(double share) const
{
    return rampAt(heat, share);
}

Color Theme::deviationAt(double share) const
{
    return rampAt(deviation, (share + 1) / 2);
}

const Theme& lightTheme()
{
    static const Theme theme = [] {
        Theme t = baseTheme();
        t.name = "light";
        t.heat = {Color::rgb(0xD8E5E9), Color::rgb(0xC2D5DB), Color::rgb(0xADC7CF), Color::rgb(0x8FB2BD), Color::rgb(0x719CAA),
                  Color::rgb(0x558696), Color::rgb(0x3C6F81), Color::rgb(0x25586A), Color::rgb(0x0F4153)};
        t.deviation = {Color::rgb(0x2B6CA3), Color::rgb(0x6496BE), Color::rgb(0x9CBDD8),
                       Color::rgb(0xC9DBEA), Color::rgb(0xE6EAEE), Color::rgb(0xF0D3B4),
                       Color::rgb(0xE8B98B), Color::rgb(0xD79150), Color::rgb(0xB9661A)};
        t.window = Color::rgb(0xECEEF2);
        t.panel = Color::rgb(0xF7F8FA);
        t.canvas = Color::rgb(0xFFFFFF);
        t.border = Color::rgb(0xD5DAE1);
        t.text = Color::rgb(0x16191F);
        t.mutedText = Color::rgb(0x5A6270);
        t.accent = Color::rgb(0x005F9E);
        t.selection = Color::rgb(0x0B0D10);
        t.hover = Color::rgb(0x16191F, 0.06F);
        t.warning = Color::rgb(0x8F5400);
        t.error = Color::rgb(0xB3261E);
        return t;
    }();
    return theme;
}

const Theme& darkTheme()
{
    static const Theme theme = [] {
        Theme t = baseTheme();
        t.name = "dark";
        t.dark = true;
        t.opClass[static_cast<std::size_t>(sim::OpClass::epComm)] = Color::rgb(0xB5457F); // wine would drown
        t.heat = {Color::rgb(0x1C2F37), Color::rgb(0x234049), Color::rgb(0x28505D), Color::rgb(0x336777), Color::rgb(0x417F92),
                  Color::rgb(0x5697A9), Color::rgb(0x74AFBF), Color::rgb(0x9BC8D3), Color::rgb(0xC8E2E8)};
        t.deviation = {Color::rgb(0x7DBCF0), Color::rgb(0x548FBF), Color::rgb(0x38658B),
                       Color::rgb(0x27435C), Color::rgb(0x262B32), Color::rgb(0x4C3825),
                       Color::rgb(0x7D5527), Color::rgb(0xB2772C), Color::rgb(0xE8A045)};
        t.window = Color::rgb(0x14171C);
        t.panel = Color::rgb(0x1A1E24);
        t.canvas = Color::rgb(0x111419);
        t.border = Color::rgb(0x343B46);
        t.text = Color::rgb(0xE8EBF0);
        t.mutedText = Color::rgb(0xA0A9B6);
        t.accent = Color::rgb(0x5DB7EE);
        t.selection = Color::rgb(0xFFFFFF);
        t.hover = Color::rgb(0xE8EBF0, 0.08F);
        t.warning = Color::rgb(0xF0B429);
        t.error = Color::rgb(0xFF8A75);
        return t;
    }();
    return theme;
}

const Theme& highContrastTheme()
{
    static const Theme theme = [] {
        Theme t = darkTheme();
        t.name = "high-contrast";
        // Fills stand out from black, and their labels from them.
        const auto fill = [&](sim::OpClass c, Color color) {
            t.opClass[static_cast<std::size_t>(c)] = color;
            t.opClassText[static_cast<std::size_t>(c)] = kBlack;
        };
        fill(sim::OpClass::forward, Color::rgb(0x3FA2F0));
        fill(sim::OpClass::backward, Color::rgb(0xFFB000));
        fill(sim::OpClass::backwardInput, Color::rgb(0xFFD27A));
        fill(sim::OpClass::backwardWeight, Color::rgb(0x00C48C));
        fill(sim::OpClass::recompute, Color::rgb(0xC3CEFA));
        fill(sim::OpClass::optimizer, Color::rgb(0xFF7A2E));
        fill(sim::OpClass::tpComm, Color::rgb(0x7CCBFA));
        fill(sim::OpClass::cpComm, Color::rgb(0xE39ABF));
        fill(sim::OpClass::epComm, Color::rgb(0xE878AE));
        fill(sim::OpClass::ppComm, Color::rgb(0xFFF35C));
        fill(sim::OpClass::dpComm, Color::rgb(0xBDBDBD));
        fill(sim::OpClass::hostTransfer, Color::rgb(0xC9A57A));
        fill(sim::OpClass::other, Color::rgb(0x9AA6B8));
        t.parameters = Color::rgb(0x8A8EF0);
        t.gradients = Color::rgb(0xFFB000);
        t.optimizer = Color::rgb(0xFF7A2E);
        t.activations = Color::rgb(0x8FE8D6);
        t.buffers = Color::rgb(0xA6A6AE);
        t.heat = {Color::rgb(0x1F3A46), Color::rgb(0x2A4C5A), Color::rgb(0x335E6E), Color::rgb(0x427588), Color::rgb(0x558EA3),
                  Color::rgb(0x70A9BC), Color::rgb(0x93C4D4), Color::rgb(0xBDDEE8), Color::rgb(0xFFFFFF)};
        t.window = t.panel = t.canvas = kBlack;
        t.border = Color::rgb(0xB8B8B8);
        t.text = t.selection = kWhite;
        t.mutedText = Color::rgb(0xE0E0E0);
        t.accent = Color::rgb(0xFFE000);
        t.hover = Color::rgb(0xFFFFFF, 0.18F);
        t.warning = Color::rgb(0xFFC04D);
        t.error = Color::rgb(0xFF9C8A);
        return t;
    }();
    return theme;
}

} // namespace app
