// The best layouts as bars on one scale: what the step of each goes to.
#include "app/views/plan/plan_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/step_part_color.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr float kBestRow = 44, kLowestBestRow = 20, kBestHead = 22, kBestShared = 16, kTwoLineRow = 31, kBestFoot = 17,
                kBestNumbers = 128, kBestCosts = 110, kBestPlace = 18;

using Replacement = std::pair<std::string_view, std::string_view>;

template <std::size_t count>
std::string replaced(std::string text, const std::array<Replacement, count>& by)
{
    for (const auto& [words, brief] : by)
        if (const std::size_t at = text.find(words); at != std::string::npos)
            text.replace(at, words.size(), brief);
    return text;
}

/// The same in fewer letters, which can be read by themselves.
std::string shorterWords(const std::string& text)
{
    constexpr std::array<Replacement, 4> kShorter{{{"sequence parallel", "seq. parallel"},
                                                   {"recomputes ", "recompute "},
                                                   {" layers a chunk", " layers"},
                                                   {" layer a chunk", " layer"}}};
    return replaced(text, kShorter);
}

struct Abbreviation {
    std::string_view brief, means;
};
constexpr std::array<Abbreviation, 4> kAbbreviations{
    {{"mb", "micro-batch"}, {"sp", "sequence parallel"}, {"rc", "recompute"}, {"rl", "layers that a chunk recomputes"}}};

/// In so few that what tells two layouts apart is still there; what they mean stands above.
std::string briefer(const std::string& text)
{
    std::string brief = shorterWords(text);
    constexpr std::string_view kRecompute = "recompute ";
    if (const std::size_t at = brief.find(kRecompute); at != std::string::npos) { // "recompute 4 layers"
        brief.replace(at, kRecompute.size(), "rl ");
        constexpr std::array<Replacement, 2> kCounted{{{" layers", ""}, {" layer", ""}}};
        brief = replaced(brief, kCounted);
    }
    constexpr std::array<Replacement, 3> kBriefest{{{"micro-batch ", "mb "}, {"seq. parallel", "sp"}, {"recomputation", "rc"}}};
    return replaced(brief, kBriefest);
}

/// "mb: micro-batch, rc: recompute", of those that stand in the texts.
std::string abbreviationsIn(const std::vector<std::string>& texts)
{
    std::string out;
    for (const auto& [brief, means] : kAbbreviations) {
        const auto has = [word = brief](const std::string& text) {
            const std::size_t at = text.find(word);
            const auto isLetter = [&](std::size_t i) {
                return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i]));
            };
            return at != std::string::npos && (at == 0 || !isLetter(at - 1)) && !isLetter(at + word.size());
        };
        if (std::any_of(texts.begin(), texts.end(), has))
            out += (out.empty() ? "" : ", ") + std::string(brief) + ": " + std::string(means);
    }
    return out;
}

/// "All: tp 8 · pp 4 · dp 2 · 1F1B · micro-batch 1", longest first; what has no room is left out from its end.
std::vector<std::string> sharedLines(std::vector<std::string> parts)
{
    std::vector<std::string> out;
    for (const char* more = ""; !parts.empty(); parts.pop_back(), more = " …") {
        std::string line = "All: ";
        for (const std::string& part : parts)
            line += (&part == &parts.front() ? "" : " · ") + part;
        for (const std::string& words : {line, shorterWords(line), briefer(line)})
            out.push_back(words + more);
    }
    return out;
}

} // namespace

struct PlanBestLayouts::Frame {
    float left = 0, top = 0, right = 0, row = kBestRow;
    std::vector<std::string> shared; ///< what all have, said once instead of in each row
    bool hasLineOfShared = false;    ///< below the title, not instead of it
    float foot = 0;                  ///< below the rows, of the line that says what places after the first are; 0: no room
    Rect rowAt(std::size_t i) const
    {
        const float y = std::floor(top + row * static_cast<float>(i));
        return {left, y, right, std::floor(y + row)};
    }
};

PlanBestLayouts::Frame PlanBestLayouts::frame(Rect area) const
{
    const std::vector<sim::PlannedLayout>& best = picture().answer().best;
    const auto rows = static_cast<float>(std::max<std::size_t>(1, best.size()));
    Frame f{area.left + 6, area.top + kBestHead, area.right - 6, kBestRow, {}, false, 0};
    if (best.size() > 1)
        f.shared = sharedTexts(best);
    f.hasLineOfShared = !f.shared.empty() && (area.bottom - f.top - kBestShared) / rows >= kTwoLineRow;
    f.top += f.hasLineOfShared ? kBestShared : 0;
    // Two lines come before what the places mean, which each row's tip says as well; where there is one in any case, both fit.
    const bool isTwoLines = (area.bottom - f.top) / rows >= kTwoLineRow;
    const float withFoot = (area.bottom - f.top - kBestFoot) / rows;
    f.foot = best.size() > 1 && withFoot >= (isTwoLines ? kTwoLineRow : kLowestBestRow) ? kBestFoot : 0;
    f.row = std::clamp((area.bottom - f.top - f.foot) / rows, kLowestBestRow, kBestRow);
    return f;
}

float PlanBestLayouts::leastHeight(bool hasWordsAboveBars) const
{
    if (!hasPicture())
        return 0;
    const auto rows = static_cast<float>(picture().answer().best.size());
    return kBestHead + (hasWordsAboveBars ? kBestShared + kTwoLineRow * rows : kLowestBestRow * rows) + kBestFoot;
}

std::vector<PlanView::Spot> PlanBestLayouts::spots(Rect area) const
{
    const Frame f = frame(area);
    const std::vector<sim::PlannedLayout>& best = picture().answer().best;
    std::vector<Spot> out;
    for (std::size_t i = 0; i < best.size(); ++i) {
        const sim::PlannedLayout& layout = best[i];
        std::string name = std::to_string(i + 1) + ". " + layoutText(layout) + ": step " + picture().paceText(layout) + ", " +
                           bytesOfGibText(layout.peakMemoryGib);
        for (const std::string& more : {picture().costText(layout), picture().tightText(layout)})
            name += more.empty() ? "" : ", " + more;
        if (layout.tieWithFirst)
            name += ", a tie with the first: the model cannot tell them apart";
        if (i > 0)
            name += "\nof the layouts that were simulated: others between it and the first may not have been";
        for (const sim::StepPart part : sim::kStepParts)
            if (layout.use[part] > 0)
                name += "\n" + std::string(sim::factsOf(part).title) + " " +
                        durationText(static_cast<double>(PlanPicture::paceNs(layout, part)));
        if (const Rect row = f.rowAt(i); row.bottom <= area.bottom + 1)
            out.push_back({row, choiceOf(layout), std::move(name)});
    }
    return out;
}

void PlanBestLayouts::paintHead(Canvas& canvas, const Frame& f, const std::vector<std::string>& rows) const
{
    const Theme& t = theme();
    const Rect area = canvas.area();
    const Rect head{area.left + kMargin, area.top, area.right - kMargin, area.top + kBestHead};
    const Rect below{head.left, head.bottom - 2, head.right, head.bottom - 2 + kBestShared};
    const bool isInstead = !f.hasLineOfShared && !f.shared.empty();
    std::vector<std::string> told = rows; // the head says what they mean
    if (f.hasLineOfShared) {
        const std::string line = fitting(canvas, sharedLines(f.shared), below.width(), FontFace::small);
        textInside(canvas, below, line, t.text, FontFace::small);
        if (line == briefer(line))
            told.push_back(line);
    }
    std::string means = abbreviationsIn(told);
    const auto roomBeside = [&] {
        const float width = means.empty() ? 0 : canvas.textWidth(means, FontFace::small) + kMargin;
        return head.width() - (width < head.width() ? width : 0);
    };
    std::string title = isInstead ? fitting(canvas, sharedLines(f.shared), roomBeside(), FontFace::small) : std::string();
    const bool isShared = !title.empty();
    if (isShared && title == briefer(title)) {
        told.push_back(title);
        means = abbreviationsIn(told);
        title = fitting(canvas, sharedLines(f.shared), roomBeside(), FontFace::small);
    }
    if (title.empty())
        title = fitting(canvas,
                        {"The best layouts, and what their steps go to (mean of ranks)", "The best layouts by what steps go to",
                         "The best layouts", "Best"},
                        roomBeside(), FontFace::bold);
    const float shown = textInside(canvas, head, title, t.text, isShared ? FontFace::small : FontFace::bold);
    textInside(canvas, {head.left + shown, head.top, head.right, head.bottom},
               fitting(canvas, {means}, head.width() - shown, FontFace::small), t.mutedText, FontFace::small, Align::right);
}

void PlanBestLayouts::paint(Canvas& canvas) const
{
    const Rect area = canvas.area();
    const Theme& t = theme();
    const Frame f = frame(area);
    const std::vector<sim::PlannedLayout>& best = picture().answer().best;
    std::vector<std::string> briefs; // drawn
    if (best.empty()) {
        paintHead(canvas, f, briefs);
        textInside(canvas, {area.left + kMargin, area.top + kBestHead, area.right - kMargin, area.top + kBestHead + 24},
                   "None that fits was found so far.", t.mutedText, FontFace::small);
        return;
    }
    double longest = 0;
    for (const sim::PlannedLayout& layout : best)
        longest = std::max(longest, layout.paceSeconds());
    const std::vector<std::string> telling = tellingTexts(best);
    std::size_t i = 0;
    for (const Spot& spot : spots(area)) {
        const sim::PlannedLayout& layout = best[i];
        if (isChosen(spot.choice))
            canvas.fillRect(spot.rect, mix(t.canvas, t.accent, 0.16F));
        else if (isHovered(spot.choice))
            canvas.fillRect(spot.rect, mix(t.canvas, t.text, 0.06F));
        const float small = canvas.textHeight(FontFace::small);
        const bool hasText = spot.rect.height() >= 2 * small + 4;
        const Rect words{spot.rect.left + kBestPlace + 4, spot.rect.top + 2, spot.rect.right - 6, spot.rect.top + 3 + small};
        const float barTop = hasText ? words.bottom + 2 : spot.rect.top + 3;
        const float barBottom = std::min(spot.rect.bottom - 4, barTop + std::max(10.0F, small + 4));
        textInside(canvas,
                   {spot.rect.left + 2, spot.rect.top, spot.rect.left + kBestPlace, hasText ? words.bottom : spot.rect.bottom},
                   std::to_string(i + 1), t.text, FontFace::bold, Align::right);
        const std::string own = f.shared.empty() ? layoutText(layout) : telling[i]; // the rest stands above
        const std::vector<std::string> names{own, shorterWords(own), briefer(own), briefer(telling[i])};
        const auto named = [&](float width) {
            std::string name = fitting(canvas, names, width, FontFace::small);
            if (name == briefer(name)) // what it is made of may be brief
                briefs.push_back(name);
            return name;
        };
        if (hasText) {
            const std::string tight = picture().tightText(layout);
            const float warned = tight.empty() ? 0 : canvas.textWidth(tight, FontFace::small) + 8;
            // Beside its words, never instead of them; the tooltip has both.
            const bool isWarned =
                warned > 0 && !fitting(canvas, {briefer(telling[i])}, words.width() - warned, FontFace::small).empty();
            Rect room = words;
            room.right -= isWarned ? warned : 0;
            const float shown = textInside(canvas, room, named(room.width()), t.text, FontFace::small);
            if (isWarned)
                textInside(canvas, {room.left + (shown > 0 ? shown + 8 : 0), words.top, words.right, words.bottom}, tight,
                           t.warning, FontFace::small);
        }
        const float left = spot.rect.left + kBestPlace + 4;
        const std::string cost = picture().costText(layout);
        const float width = std::max(40.0F, spot.rect.right - kBestNumbers - (cost.empty() ? 0 : kBestCosts) - left);
        double sum = 0;
        const auto at = [&](double seconds) { return std::round(left + static_cast<float>(seconds / longest) * width); };
        for (const sim::StepPart part : sim::kStepParts) {
            if (layout.use[part] <= 0)
                continue;
            const float from = at(sum);
            const double ns = static_cast<double>(PlanPicture::paceNs(layout, part));
            sum += ns * 1e-9;
            const Rect bar{from, barTop, std::max(from + 1, at(sum) - 1), barBottom};
            const Color fill = fillOf(part, t);
            canvas.fillRect(bar, fill);
            const std::string name = sim::factsOf(part).name;
            const bool isNamed = !hasText && part == sim::StepPart::computing; // in a low list on its widest part
            const std::string shown =
                isNamed ? named(bar.width() - 6)
                        : fitting(canvas, {name + " " + durationText(ns), name}, bar.width() - 6, FontFace::small);
            textInside(canvas, {bar.left + 3, bar.top, bar.right, bar.bottom}, shown, readableOn(fill), FontFace::small);
        }
        const float right = std::max(at(layout.paceSeconds()), at(sum)) + 6;
        const std::string percent = marginPercent(picture().marginOf(layout), 1);
        const std::string time = durationText(layout.paceSeconds() * 1e9), memory = bytesOfGibText(layout.peakMemoryGib);
        const std::string differs = i == 0 ? "" : layout.tieWithFirst ? " tie" : " " + percent;
        const std::string whole = time + differs + " · " + memory;
        const std::vector<std::string> numbers =
            cost.empty() ? std::vector<std::string>{whole, time + differs, time}
                         : std::vector<std::string>{whole + " · " + cost, time + differs + " · " + cost,
                                                    time + " · " + cost,  whole,
                                                    time + differs,       time};
        textInside(canvas, {right, barTop - 2, spot.rect.right, barBottom + 2},
                   fitting(canvas, numbers, spot.rect.right - right, FontFace::small), t.text, FontFace::small);
        ++i;
    }
    paintHead(canvas, f, briefs);
    if (f.foot <= 0)
        return;
    const float top = f.rowAt(best.size() - 1).bottom;
    const Rect foot{area.left + kMargin, top, area.right - kMargin, top + f.foot};
    textInside(canvas, foot,
               fitting(canvas,
                       {"Places after the first are of the layouts that were simulated; others between them may not have been.",
                        "After the first: of those simulated; others may lie between.", "After the first: of those simulated."},
                       foot.width(), FontFace::small),
               t.mutedText, FontFace::small);
}

} // namespace app
