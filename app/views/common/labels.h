// Numbers as people read them, and text that is drawn whole or not at all.
#pragma once

#include "app/canvas/canvas.h"
#include "app/step/known_grid.h"
#include "app/views/common/theme.h"
#include "sim/mesh/mesh.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace app {

std::string separatedText(std::string digits); ///< 1234.5 -> 1,234.5
std::string countText(std::int64_t);           ///< 16,384
std::string threeDigits(double);               ///< 3.21, 32.1, 321
/// Of the largest number, written so: what is smaller beside it is lost in its rounding.
inline constexpr double kLostInThreeDigits = 0.0005;
std::string durationText(double nanoseconds); ///< 812 ns, 3.21 µs, 412 ms, 1.20 s
/// Whether the size of a difference is what a reader gets who subtracts the two numbers beside it as they are told: not in
/// "25.4 ms", "44.4 ms", "19.1 ms" of 25.35, 44.41 and 19.06, each of which is rounded by itself. True where not all are in one
/// unit, or the two are told alike.
bool addsUpAsTold(const std::string& a, const std::string& b, const std::string& size);
/// Said where something is not: what is told is right, and does not look so.
inline constexpr const char* kFiguresAreRounded = "each figure is rounded by itself";
std::string bytesText(double bytes);    ///< 71.2 GiB
std::string bytesOfGibText(double gib); ///< the same of as many GiB: 640 MiB
/// Both of "does not fit: 80.003 GiB of 80 GiB": what is beyond a limit in the digits that show it, three where that is enough.
std::pair<std::string, std::string> bytesBesideLimit(double bytes, double limit);
std::string wholeBytesText(double bytes); ///< 71 GiB: where there is little room
std::string percentText(double fraction); ///< 41.3 %
/// "8–15" where they count on, "8, 136, 264 … 16,264" where they do not.
std::string rankListText(const std::vector<int>& ascending);
/// "0–3, 8–11": runs of numbers that count on; of many runs the first and the last.
std::string runsText(const std::vector<int>& ascending);
/// "dp 0 · pp 1 · cp 0 · tp 1": the axes above 1, slowest first; "the only rank" if there are none.
std::string coordinatesText(const sim::Mesh&, int rank, const KnownGrid& = {});

/// The first of the texts that is no wider than that, or nothing.
std::string fitting(Canvas&, const std::vector<std::string>& longestFirst, float width, FontFace = FontFace::body);
/// The text with each of its digits the widest of the face: digits are not equally wide.
std::string widestNumber(Canvas&, std::string text, FontFace = FontFace::body);
/// As fitting(), all digits as wide as the widest: where many stand beside each other, 21.6 is written only if 24.6 would be.
std::string fittingEvenly(Canvas&, const std::vector<std::string>& longestFirst, float width, FontFace = FontFace::body);
/// Left-aligned, vertically centred; drawn only if it fits. Returns the width drawn.
float textInside(Canvas&, Rect, std::string_view, Color, FontFace = FontFace::body, Align = Align::left);
/// What a view says when it has nothing to show.
void drawEmpty(Canvas&, const Theme&, std::string_view title, std::string_view hint);

} // namespace app
