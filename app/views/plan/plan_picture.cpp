#include "app/views/plan/plan_picture.h"

#include "app/views/common/labels.h"
#include "sim/schedule/families/families.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr double kNsASecond = 1e9;

std::string formatted(const char* format, double value)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::string stepText(double seconds)
{
    return durationText(seconds * kNsASecond);
}

/// What says most of a grid comes first: what ran, what may still be better, what was cut, what is too large, what is illegal.
int tellingOf(sim::PlanReason reason)
{
    switch (reason) {
    case sim::PlanReason::slower:
        return 0;
    case sim::PlanReason::open:
        return 1;
    case sim::PlanReason::floor:
        return 2;
    case sim::PlanReason::memory:
        return 3;
    case sim::PlanReason::rule:
        return 4;
    }
    return 5;
}

PlanCellKind kindOf(sim::PlanReason reason)
{
    constexpr std::array kKinds{PlanCellKind::rule, PlanCellKind::memory, PlanCellKind::floor, PlanCellKind::slower,
                                PlanCellKind::open};
    return kKinds[static_cast<std::size_t>(reason)];
}

std::string_view settingIn(const sim::PlannedLayout& layout, std::string_view pointer)
{
    for (const auto& [key, value] : layout.settings)
        if (key == pointer)
            return value;
    return {};
}

std::string bare(std::string_view json)
{
    return json.size() >= 2 && json.front() == '"' ? std::string(json.substr(1, json.size() - 2)) : std::string(json);
}

} // namespace

PlanPicture::PlanPicture(std::shared_ptr<const sim::PlanAnswer> answer, sim::PlanObjective objective, double gpuGib)
    : m_answer(std::move(answer)), m_objective(objective), m_gpuGib(gpuGib)
{
    struct Telling {
        const sim::RejectedGrid* grid = nullptr;
        int grids = 0;
    };
    std::map<std::pair<int, int>, Telling> telling; // pp, tp
    for (const sim::RejectedGrid& grid : m_answer->rejected) {
        Telling& of = telling[{grid.grid.pp, grid.grid.tp}];
        ++of.grids;
        if (!of.grid || tellsMore(grid, *of.grid))
            of.grid = &grid;
    }
    const sim::PlannedLayout* const first = m_answer->best.empty() ? nullptr : &m_answer->best.front();
    if (first)
        ++telling[{first->grid.pp, first->grid.tp}].grids;
    for (const auto& [place, of] : telling) {
        m_pps.push_back(place.first);
        m_tps.push_back(place.second);
    }
    for (std::vector<int>* sizes : {&m_tps, &m_pps}) {
        std::sort(sizes->begin(), sizes->end());
        sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
    }

    const auto add = [&](const sim::PlannedLayout& layout) {
        if (std::none_of(m_layouts.begin(), m_layouts.end(),
                         [&](const sim::PlannedLayout& known) { return known.settings == layout.settings; }))
            m_layouts.push_back(layout);
    };
    for (const sim::PlannedLayout& layout : m_answer->best)
        add(layout);
    for (const sim::PlannedLayout& layout : m_answer->pareto)
        add(layout);
    for (const sim::RejectedGrid& grid : m_answer->rejected)
        if (grid.best)
            add(*grid.best);

    for (const int pp : m_pps)
        for (const int tp : m_tps) {
            PlanCell cell{.tp = tp, .pp = pp, .kind = PlanCellKind::none, .best = {}, .reason = {}};
            const auto found = telling.find({pp, tp});
            if (found == telling.end()) {
                cell.reason = "No grid of " + sim::countedText(m_answer->gpus, "GPU") + " has tp " + countText(tp) + " and pp " +
                              countText(pp);
                m_cells.push_back(std::move(cell));
                continue;
            }
            cell.grids = found->second.grids;
            if (first && first->grid.tp == tp && first->grid.pp == pp) {
                cell.kind = PlanCellKind::winner;
                cell.best = *first;
                cell.isProved = m_answer->proved;
                cell.reason = layoutText(*first);
            } else {
                reject(cell, *found->second.grid);
            }
            fillCell(cell);
            m_cells.push_back(std::move(cell));
        }
}

/// Of the grids of a cell, the one that stands for it.
bool PlanPicture::tellsMore(const sim::RejectedGrid& a, const sim::RejectedGrid& b) const
{
    if (tellingOf(a.reason) != tellingOf(b.reason))
        return tellingOf(a.reason) < tellingOf(b.reason);
    if (a.best && b.best)
        return keyOf(*a.best) < keyOf(*b.best);
    return a.leastFloorSeconds > 0 && (b.leastFloorSeconds == 0 || a.leastFloorSeconds < b.leastFloorSeconds);
}

void PlanPicture::reject(PlanCell& cell, const sim::RejectedGrid& grid)
{
    cell.kind = kindOf(grid.reason);
    cell.best = grid.best;
    cell.leastSeconds = grid.leastFloorSeconds;
    cell.reason = grid.grid.text() + ": " + grid.text;
}

/// Margin and tie follow from what is best of it.
void PlanPicture::fillCell(PlanCell& cell) const
{
    cell.margin = 0;
    if (m_answer->best.empty())
        return;
    if (cell.best) {
        cell.margin = marginOf(*cell.best);
        if (cell.kind == PlanCellKind::slower && cell.best->tieWithFirst)
            cell.kind = PlanCellKind::tie;
        return;
    }
    if (cell.leastSeconds > 0 && !byHeadroom())
        cell.margin = cell.leastSeconds / m_answer->best.front().paceSeconds() - 1;
}

const PlanCell* PlanPicture::cell(int tp, int pp) const
{
    const auto found =
        std::find_if(m_cells.begin(), m_cells.end(), [&](const PlanCell& cell) { return cell.tp == tp && cell.pp == pp; });
    return found == m_cells.end() ? nullptr : &*found;
}

bool PlanPicture::isOnFrontier(const sim::PlannedLayout& layout) const
{
    return std::any_of(m_answer->pareto.begin(), m_answer->pareto.end(),
                       [&](const sim::PlannedLayout& of) { return of.settings == layout.settings; });
}

void PlanPicture::setCell(int tp, int pp, const sim::PlanAnswer& answer)
{
    const auto cell =
        std::find_if(m_cells.begin(), m_cells.end(), [&](const PlanCell& of) { return of.tp == tp && of.pp == pp; });
    if (cell == m_cells.end() || cell->kind == PlanCellKind::winner || m_answer->best.empty())
        return;
    if (answer.best.empty()) {
        const auto telling =
            std::min_element(answer.rejected.begin(), answer.rejected.end(),
                             [&](const sim::RejectedGrid& a, const sim::RejectedGrid& b) { return tellsMore(a, b); });
        if (answer.proved && !cell->best && telling != answer.rejected.end()) { // looked at to the end, nothing of it fits
            reject(*cell, *telling);
            cell->isProved = true;
            fillCell(*cell);
        }
        return;
    }
    const sim::PlannedLayout& best = answer.best.front();
    if (cell->best && keyOf(*cell->best) < keyOf(best))
        return;
    cell->kind = PlanCellKind::slower;
    cell->isProved = answer.proved;
    cell->best = best;
    cell->reason =
        best.grid.text() + ": the best of it" + (answer.proved ? "" : " of those simulated") + " " + differenceText(best);
    fillCell(*cell);
}

std::string PlanPicture::paceText(const sim::PlannedLayout& layout) const
{
    if (!m_answer || m_answer->paceBatch == 0)
        return stepText(layout.stepSeconds);
    const std::string whole = stepText(layout.paceSeconds()) + " for " + sim::countedText(m_answer->paceBatch, "sequence");
    return layout.batches == 1 ? whole : whole + " (" + stepText(layout.stepSeconds) + " a step)";
}

std::string PlanPicture::mineText() const
{
    if (!m_mine)
        return {};
    const bool isOfMore = m_answer && m_answer->paceBatch > 0;
    return stepText(m_mine->paceSeconds) + (isOfMore ? " for " + sim::countedText(m_answer->paceBatch, "sequence") : "");
}

std::int64_t PlanPicture::paceNs(const sim::PlannedLayout& layout, sim::StepPart part)
{
    return std::llround(static_cast<double>(layout.use[part]) * layout.batches);
}

std::string PlanPicture::differenceText(const sim::PlannedLayout& layout) const
{
    std::string text = "takes " + paceText(layout);
    if (!m_answer || m_answer->best.empty() || m_answer->best.front().settings == layout.settings)
        return text;
    const sim::PlannedLayout& first = m_answer->best.front();
    std::vector<std::pair<std::int64_t, sim::StepPart>> deltas;
    for (const sim::StepPart part : sim::kStepParts)
        if (const std::int64_t delta = paceNs(layout, part) - paceNs(first, part); delta != 0)
            deltas.emplace_back(delta, part);
    std::sort(deltas.begin(), deltas.end(), [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
    std::erase_if(deltas, [largest = deltas.empty() ? 0 : deltas.front().first](const auto& delta) {
        return static_cast<double>(std::abs(delta.first)) < kLostInThreeDigits * static_cast<double>(std::abs(largest));
    });
    const double difference = layout.paceSeconds() - first.paceSeconds();
    text += ", " + stepText(std::abs(difference)) + (difference >= 0 ? " more" : " less") + " than the first";
    for (std::size_t i = 0; i < deltas.size(); ++i)
        text += (i == 0 ? ": " : ", ") + std::string(sim::factsOf(deltas[i].second).name) + (deltas[i].first > 0 ? " +" : " −") +
                durationText(static_cast<double>(std::abs(deltas[i].first)));
    return text;
}

double PlanPicture::marginOf(const sim::PlannedLayout& layout) const
{
    if (!m_answer || m_answer->best.empty() || !(keyOf(m_answer->best.front()) > 0))
        return 0;
    return keyOf(layout) / keyOf(m_answer->best.front()) - 1;
}

std::string PlanPicture::costText(const sim::PlannedLayout& layout) const
{
    if (!(m_price > 0))
        return {};
    constexpr double kWithoutCents = 100, kWorthNaming = 0.01, kThousand = 1000;
    double cost = layout.gpuHours * m_price;
    const char* of = " a step";
    for (const char* more : {" for 1,000 steps", " for 1,000,000 steps"}) // a step of a small job costs less than a cent
        if (!m_costsRun && cost < kWorthNaming) {
            cost *= kThousand;
            of = more;
        }
    return "costs " + (cost >= kWithoutCents ? countText(std::llround(cost)) : formatted("%.2f", cost)) +
           (m_costsRun ? " for all tokens" : of);
}

std::string PlanPicture::tightText(const sim::PlannedLayout& layout) const
{
    return m_gpuGib > 0 ? sim::tightText(m_gpuGib - layout.headroomGib, layout.headroomGib) : std::string();
}

namespace {

/// What of a layout a person reads, in that order: its words, and those where it has none of it.
struct LayoutFeature {
    std::string words, absent;
    const std::string& told() const { return words.empty() ? absent : words; }
};

std::array<LayoutFeature, 7> featuresOf(const sim::PlannedLayout& layout)
{
    std::array<LayoutFeature, 7> out{
        LayoutFeature{layout.grid.text(), {}}, {{}, "no schedule"},      {{}, "micro-batch as it is"}, {{}, "no ZeRO"},
        {{}, "not sequence parallel"},         {{}, "no recomputation"}, {{}, "batch as it is"}};
    if (const auto kind = settingIn(layout, "schedule.kind"); !kind.empty() && layout.grid.pp > 1) {
        const auto chunks = settingIn(layout, "schedule.virtual_stages");
        const sim::ScheduleFamily* family = sim::findScheduleFamily(bare(kind));
        out[1].words = (family ? std::string(family->title) : bare(kind)) +
                       (chunks.empty() || chunks == "1" ? "" : " × " + std::string(chunks));
    }
    if (const auto size = settingIn(layout, "training.micro_batch_size"); !size.empty())
        out[2].words = "micro-batch " + std::string(size);
    if (const auto zero = settingIn(layout, "layout.zero_stage"); !zero.empty() && zero != "0") {
        const auto shard = settingIn(layout, "layout.dp_shard");
        out[3].words =
            "ZeRO " + std::string(zero) +
            (shard.empty() || shard == std::to_string(layout.grid.dp * layout.grid.cp) ? "" : " over " + std::string(shard));
    }
    if (settingIn(layout, "layout.sequence_parallel") == "true")
        out[4].words = "sequence parallel";
    if (const auto recompute = settingIn(layout, "training.recompute"); !recompute.empty() && recompute != "\"none\"") {
        const std::size_t at = recompute.find("\"layers\":");
        if (at == std::string_view::npos) {
            out[5].words = bare(recompute).starts_with('{') ? "selective recomputation" : bare(recompute) + " recomputation";
        } else {
            const std::string layers(recompute.substr(at + 9, recompute.size() - at - 10));
            out[5].words = "recomputes " + layers + (layers == "1" ? " layer" : " layers") + " a chunk";
        }
    }
    if (const auto batch = settingIn(layout, "training.global_batch_size"); !batch.empty())
        out[6].words = "batch " + std::string(batch);
    return out;
}

void addWords(std::string& text, const std::string& words)
{
    if (!words.empty())
        text += (text.empty() ? "" : " · ") + words;
}

} // namespace

std::string layoutText(const sim::PlannedLayout& layout)
{
    std::string text;
    for (const LayoutFeature& feature : featuresOf(layout))
        addWords(text, feature.words);
    return text;
}

std::vector<std::string> tellingTexts(const std::vector<sim::PlannedLayout>& layouts)
{
    std::vector<std::array<LayoutFeature, 7>> all;
    for (const sim::PlannedLayout& layout : layouts)
        all.push_back(featuresOf(layout));
    std::vector<std::string> out(layouts.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t feature = 0; feature < all[i].size(); ++feature)
            if (std::any_of(all.begin(), all.end(),
                            [&](const auto& other) { return other[feature].words != all[i][feature].words; }))
                addWords(out[i], all[i][feature].told());
        if (out[i].empty())
            out[i] = layouts[i].grid.text();
    }
    return out;
}

std::vector<std::string> sharedTexts(const std::vector<sim::PlannedLayout>& layouts)
{
    std::vector<std::string> out;
    if (layouts.empty())
        return out;
    const auto first = featuresOf(layouts.front());
    for (std::size_t feature = 0; feature < first.size(); ++feature)
        if (!first[feature].words.empty() && std::all_of(layouts.begin(), layouts.end(), [&](const sim::PlannedLayout& layout) {
                return featuresOf(layout)[feature].words == first[feature].words;
            }))
            out.push_back(first[feature].words);
    return out;
}

std::string differingText(const sim::PlannedLayout& layout, const sim::PlannedLayout& first)
{
    const auto own = featuresOf(layout), others = featuresOf(first);
    std::string text;
    for (std::size_t feature = 0; feature < own.size(); ++feature)
        if (own[feature].words != others[feature].words)
            addWords(text, own[feature].told());
    return text.empty() ? layout.grid.text() : text;
}

std::string marginText(const PlanPicture& picture, const PlanCell& cell)
{
    const auto percent = [&] { return marginPercent(cell.margin, std::abs(cell.margin) < 0.1 ? 1 : 0); };
    switch (cell.kind) {
    case PlanCellKind::none:
        return {};
    case PlanCellKind::winner:
        return "best";
    case PlanCellKind::tie:
        return (cell.isProved ? "" : "≤ ") + percent() + ", tie";
    case PlanCellKind::slower:
        return (cell.isProved ? "" : "≤ ") + percent();
    case PlanCellKind::floor:
        return picture.byHeadroom() ? "cut by floor" : "≥ " + percent();
    case PlanCellKind::open:
        return "open";
    case PlanCellKind::memory:
        return "too large";
    case PlanCellKind::rule:
        return "not legal";
    }
    return {};
}

std::string marginPercent(double share, int decimals)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f %%", decimals, 100 * std::abs(share));
    return (share < 0 ? "−" : "+") + std::string(text.data());
}

std::string cellText(const PlanPicture& picture, const PlanCell& cell)
{
    std::string text = "tp " + countText(cell.tp) + ", pp " + countText(cell.pp);
    if (cell.best)
        text += ": " + picture.paceText(*cell.best) + ", " + bytesOfGibText(cell.best->peakMemoryGib);
    const std::string margin = marginText(picture, cell);
    text += margin.empty() ? "" : ", " + margin;
    if (cell.best)
        for (const std::string& more : {picture.costText(*cell.best), picture.tightText(*cell.best)})
            text += more.empty() ? "" : ", " + more;
    if (picture.isMine(cell))
        text += ", yours has this tp and pp, and is as it is: " + picture.mineText();
    return text + ". " + cell.reason;
}

Table planTable(const PlanPicture& picture)
{
    const std::string time =
        picture.paceBatch() == 0 ? "step (s)" : "time of " + sim::countedText(picture.paceBatch(), "sequence") + " (s)";
    Table table{.header = {"tp", "pp", "what", time, "memory (GiB)", "beyond the first (%)", "reason"}, .rows = {}};
    constexpr std::array kNames{"no grid", "best", "tie", "slower", "cut by floor", "open", "too large", "not legal"};
    for (const PlanCell& cell : picture.cells()) {
        const bool hasMargin = cell.best || (cell.kind == PlanCellKind::floor && !picture.byHeadroom());
        table.rows.push_back({std::to_string(cell.tp), std::to_string(cell.pp), kNames[static_cast<std::size_t>(cell.kind)],
                              cell.best               ? formatted("%.9g", cell.best->paceSeconds())
                              : cell.leastSeconds > 0 ? formatted("%.9g", cell.leastSeconds)
                                                      : std::string(),
                              cell.best ? formatted("%.6g", cell.best->peakMemoryGib) : std::string(),
                              hasMargin ? formatted("%.4g", 100 * cell.margin) : std::string(), cell.reason});
    }
    return table;
}

} // namespace app
