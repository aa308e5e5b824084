#include "app/canvas/tabled_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace app {
namespace {

// Advance widths in thousandths of the em square: Inter 4.0 Regular and SemiBold (SIL Open Font Licence), from their "hmtx"
// tables; U+0020 to U+007E.
constexpr char32_t kFirst = 0x20, kLast = 0x7E;
using Widths = std::array<std::int16_t, kLast - kFirst + 1>;
constexpr Widths kRegular{281, 278, 403, 631, 638, 812, 639, 222, 362, 362, 500, 659, 280, 460, 276, 357, 625, 464, 605,
                          636, 642, 608, 624, 571, 616, 624, 276, 280, 659, 659, 659, 507, 936, 676, 651, 727, 719, 598,
                          587, 743, 740, 264, 543, 652, 562, 889, 753, 761, 635, 761, 639, 638, 642, 741, 676, 949, 642,
                          665, 625, 362, 357, 362, 469, 452, 497, 564, 621, 558, 621, 582, 361, 609, 591, 237, 237, 544,
                          237, 869, 585, 597, 609, 609, 372, 523, 364, 581, 557, 812, 540, 557, 541, 362, 327, 362, 659};
constexpr Widths kSemiBold{248, 309, 396, 643, 649, 844, 663, 213, 393, 393, 543, 673, 295, 466, 290, 379, 667, 481,  621,
                           652, 666, 632, 648, 587, 646, 648, 290, 295, 673, 673, 673, 544, 999, 724, 657, 744, 724,  608,
                           586, 755, 744, 275, 561, 677, 566, 906, 741, 775, 643, 776, 651, 649, 660, 734, 724, 1007, 690,
                           705, 653, 393, 379, 393, 481, 468, 497, 575, 630, 577, 630, 593, 377, 625, 613, 261, 261,  569,
                           261, 898, 610, 608, 625, 625, 397, 549, 380, 608, 576, 837, 562, 576, 562, 393, 358, 393,  673};

/// Characters beyond these that the views write.
struct Special {
    char32_t character;
    std::int16_t regular, semiBold;
};
constexpr Special kSpecials[] = {
    {0x00B0, 455, 458},   {0x00B1, 659, 673},   {0x00B2, 420, 423}, {0x00B3, 430, 438},   {0x00B5, 622, 652},
    {0x00B7, 276, 290},   {0x00D7, 659, 673},   {0x2013, 500, 500}, {0x2014, 1000, 1000}, {0x2019, 185, 214},
    {0x2026, 821, 806},   {0x2190, 955, 955},   {0x2191, 955, 955}, {0x2192, 955, 955},   {0x2193, 955, 955},
    {0x2212, 659, 673},   {0x2264, 659, 673},   {0x2265, 659, 673}, {0x25A0, 915, 915},   {0x25B2, 1009, 1035},
    {0x25BC, 1009, 1035}, {0x25C6, 1051, 1058}, {0x25CF, 915, 915}, {0x2713, 881, 881},   {0x2717, 881, 881}};

constexpr int kMonospaced = 600;                     ///< JetBrains Mono
constexpr int kUsual = 600;                          ///< of letters that no table has: accents, other scripts
constexpr float kAscent = 0.969F, kDescent = 0.242F; ///< of the em square, both fonts' within a hundredth

int thousandths(char32_t character, FontFace face)
{
    if (face == FontFace::mono)
        return kMonospaced;
    const bool bold = face == FontFace::bold;
    if (character >= kFirst && character <= kLast)
        return (bold ? kSemiBold : kRegular)[character - kFirst];
    const auto* special =
        std::find_if(std::begin(kSpecials), std::end(kSpecials), [&](const Special& s) { return s.character == character; });
    return special == std::end(kSpecials) ? kUsual : bold ? special->semiBold : special->regular;
}

} // namespace

const TypeMetrics& tabledType()
{
    class Tabled final : public TypeMetrics {
        LineMetrics line(FontFace face) const override
        {
            const float pixels = fontPixels(face);
            return {std::round(kAscent * pixels), std::round((kAscent + kDescent) * pixels)};
        }
        float width(std::string_view text, FontFace face) const override
        {
            int sum = 0;
            for (std::size_t i = 0; i < text.size();) {
                // The length of a UTF-8 sequence by its first byte; a stray byte counts as a character.
                const auto first = static_cast<unsigned char>(text[i]);
                const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
                char32_t character = length == 1 ? first : first & (0x7FU >> length);
                for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
                    character = (character << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
                sum += thousandths(character, face);
                i += length;
            }
            return static_cast<float>(sum) / 1000 * fontPixels(face);
        }
    };
    static const Tabled tabled;
    return tabled;
}

} // namespace app
