// The table of colours: readable, and told apart by every kind of eye.
#include "app/views/common/color.h"
#include "app/views/common/theme.h"

#include <gtest/gtest.h>

#include <cmath>

namespace app {
namespace {

using Rgb = std::array<double, 3>;

Rgb linear(Color color)
{
    Rgb out{};
    for (unsigned i = 0; i < 3; ++i) {
        const double c = ((color.value >> (8 * i)) & 0xFF) / 255.0;
        out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    }
    return out;
}

/// CIE L*a*b*, D65.
Rgb lab(const Rgb& c)
{
    const double x = (0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.9505;
    const double y = 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
    const double z = (0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.089;
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

/// What eyes without one kind of cone see: Machado, Oliveira and Fernandes 2009, severity 1.
using Matrix = std::array<Rgb, 3>;
constexpr std::array<Matrix, 4> kEyes{{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}, // protanopia
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},  // deuteranopia
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}, // tritanopia
}};

double distance(Color a, Color b, const Matrix& eye)
{
    const auto seen = [&](Color color) {
        const Rgb c = linear(color);
        Rgb out{};
        for (std::size_t i = 0; i < 3; ++i)
            out[i] = std::clamp(eye[i][0] * c[0] + eye[i][1] * c[1] + eye[i][2] * c[2], 0.0, 1.0);
        return lab(out);
    };
    const Rgb x = seen(a), y = seen(b);
    return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

class EveryTheme : public testing::TestWithParam<const Theme*> {};
INSTANTIATE_TEST_SUITE_P(Theme, EveryTheme, testing::Values(&lightTheme(), &darkTheme(), &highContrastTheme()),
                         [](const auto& theme) {
                             std::string name = theme.param->name;
                             std::erase(name, '-');
                             return name;
                         });

constexpr double kReadable = 4.5; // WCAG AA, text

TEST_P(EveryTheme, TextIsReadableOnEverySurface)
{
    const Theme& t = *GetParam();
    for (const Color surface : {t.window, t.panel, t.canvas})
        for (const Color text : {t.text, t.mutedText, t.accent, t.warning, t.error})
            EXPECT_GE(contrast(surface, text), kReadable) << t.name << std::hex << " " << surface.value << " " << text.value;
}

TEST_P(EveryTheme, LabelsAreReadableOnTheirSpans)
{
    const Theme& t = *GetParam();
    for (std::size_t c = 0; c < t.opClass.size(); ++c)
        EXPECT_GE(contrast(t.opClass[c], t.opClassText[c]), kReadable) << sim::opClassName(static_cast<sim::OpClass>(c));
}

TEST_P(EveryTheme, SomethingReadableExistsOnEveryHeat)
{
    const Theme& t = *GetParam();
    for (int i = 0; i <= 100; ++i)
        EXPECT_GE(contrast(t.heatAt(i / 100.0), readableOn(t.heatAt(i / 100.0))), kReadable) << i;
}

TEST_P(EveryTheme, HeatRunsAwayFromTheCanvasWithoutTurningBack)
{
    const Theme& t = *GetParam();
    for (std::size_t i = 1; i < t.heat.size(); ++i)
        EXPECT_GT(contrast(t.heat[i], t.canvas), contrast(t.heat[i - 1], t.canvas)) << i;
}

TEST_P(EveryTheme, ComputeClassesDifferForAllEyes)
{
    const Theme& t = *GetParam();
    const auto fill = [&](sim::OpClass c) { return t.fill(c); };
    const std::array compute{fill(sim::OpClass::forward), fill(sim::OpClass::backward), fill(sim::OpClass::backwardWeight),
                             fill(sim::OpClass::optimizer), fill(sim::OpClass::recompute)};
    constexpr double kTellApart = 12; // about five times the smallest step that is noticed
    for (const Matrix& eye : kEyes)
        for (std::size_t i = 0; i < compute.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_GT(distance(compute[i], compute[j], eye), kTellApart) << i << " " << j << " eye " << &eye - kEyes.data();
}

TEST_P(EveryTheme, MemoryColoursDifferForAllEyes)
{
    const Theme& t = *GetParam();
    const std::array memory{t.parameters, t.gradients, t.optimizer, t.activations, t.buffers};
    for (const Matrix& eye : kEyes)
        for (std::size_t i = 0; i < memory.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_GT(distance(memory[i], memory[j], eye), 12) << i << " " << j << " eye " << &eye - kEyes.data();
}

TEST(HighContrast, TextAndLabelsReachTheHigherLevel)
{
    constexpr double kEnhanced = 7; // WCAG AAA, text
    const Theme& t = highContrastTheme();
    for (const Color surface : {t.window, t.panel, t.canvas})
        for (const Color text : {t.text, t.mutedText, t.accent, t.warning, t.error})
            EXPECT_GE(contrast(surface, text), kEnhanced) << std::hex << text.value;
    for (std::size_t c = 0; c < t.opClass.size(); ++c)
        EXPECT_GE(contrast(t.opClass[c], t.opClassText[c]), kEnhanced) << sim::opClassName(static_cast<sim::OpClass>(c));
}

TEST(HighContrast, EverythingThatIsDrawnStandsOutFromItsGround)
{
    constexpr double kVisible = 3; // WCAG AA, parts of pictures and controls
    const Theme& t = highContrastTheme();
    EXPECT_GE(contrast(t.border, t.window), kVisible);
    for (const Color fill : t.opClass)
        EXPECT_GE(contrast(fill, t.canvas), kVisible) << std::hex << fill.value;
    for (const Color fill : {t.parameters, t.gradients, t.optimizer, t.activations, t.buffers})
        EXPECT_GE(contrast(fill, t.canvas), kVisible) << std::hex << fill.value;
}

TEST(Color, BlackOnWhiteIsTheHighestContrast)
{
    EXPECT_NEAR(contrast(Color::rgb(0), Color::rgb(0xFFFFFF)), 21, 1e-9);
    EXPECT_NEAR(contrast(Color::rgb(0x777777), Color::rgb(0x777777)), 1, 1e-9);
    EXPECT_NEAR(contrast(Color::rgb(0xFFFFFF), Color::rgb(0x0072B2)), 5.19, 0.01); // as WebAIM's checker has it
}

TEST(Color, MixingMeetsBothEnds)
{
    const Color a = Color::rgb(0x102030), b = Color::rgb(0xF0E0D0, 0.5F);
    EXPECT_EQ(mix(a, b, 0), a);
    EXPECT_EQ(mix(a, b, 1), b);
    EXPECT_EQ(mix(Color::rgb(0x000000), Color::rgb(0xFFFFFF), 0.5F), Color::rgb(0x808080));
}

} // namespace
} // namespace app
