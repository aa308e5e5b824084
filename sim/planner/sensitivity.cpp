#include "sim/planner/sensitivity.h"

#include "sim/cancel.h"
#include "sim/memory_limit.h"
#include "sim/parallel.h"
#include "sim/planner/planned_layout.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/pointer_text.h"
#include "sim/scenario/words.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace sim {
namespace {

constexpr double kFarthest = 16;    ///< times, and a part of
constexpr double kPrecision = 1e-3; ///< of a turn, relative
constexpr std::array kGridKeys{"layout.tp", "layout.cp", "layout.pp", "layout.dp", "layout.ep", "layout.etp"};

/// One number of a scenario's cluster that can be moved.
struct Constant {
    std::string pointer, name, unit;
    double now = 0;
    std::function<void(Cluster&, double)> set;
};

std::vector<Constant> constantsOf(const Scenario& scenario)
{
    std::vector<Constant> all;
    const Cluster& cluster = scenario.cluster;
    const Precision precision = scenario.training.precision;
    if (const auto peak = cluster.gpu.peakTflops.find(precision); peak != cluster.gpu.peakTflops.end())
        all.push_back({"/cluster/gpu/peak_tflops/" + std::string(toWord(kPrecisionWords, precision)), "peak of the GPU",
                       "TFLOP/s", peak->second,
                       [precision](Cluster& of, double value) { of.gpu.peakTflops[precision] = value; }});
    all.push_back({"/cluster/gpu/memory_bandwidth_gbs", "memory bandwidth of the GPU", "GB/s", cluster.gpu.memoryBandwidthGBs,
                   [](Cluster& of, double value) { of.gpu.memoryBandwidthGBs = value; }});
    for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
        const std::string tier = "/cluster/tiers/" + std::to_string(i);
        all.push_back({tier + "/bandwidth_gbs", "bandwidth of " + spokenNetwork(cluster.tiers[i].name), "GB/s",
                       cluster.tiers[i].bandwidthGBs, [i](Cluster& of, double value) { of.tiers[i].bandwidthGBs = value; }});
        all.push_back({tier + "/latency_us", "latency of " + spokenNetwork(cluster.tiers[i].name), "us",
                       cluster.tiers[i].latencyUs, [i](Cluster& of, double value) { of.tiers[i].latencyUs = value; }});
    }
    return all;
}

constexpr std::size_t kMostOfBest = 3, kMostOtherGrids = 3; ///< that are compared

bool isOfGrid(std::string_view pointer)
{
    const std::string key = dotted(std::string(pointer));
    return std::any_of(kGridKeys.begin(), kGridKeys.end(), [&](const char* one) { return key == one; });
}

class Turns {
public:
    Turns(const PlanRequest& request, const Catalogue& catalogue, const std::vector<PlannedLayout>& layouts, bool searches)
        : m_request(request), m_catalogue(catalogue), m_layouts(layouts), m_searches(searches),
          m_threads(static_cast<std::size_t>(std::max(0, request.jobs)))
    {
        for (const PlannedLayout& layout : m_layouts)
            m_scenarios.push_back(resolvedScenario(withSettings(request, layout.settings), catalogue));
    }

    const Scenario& firstScenario() const { return m_scenarios.front(); }
    const PlannedLayout& first() const { return m_layouts.front(); }

    /// Where another begins to be first. Searched: of those compared until the search finds no other that is better before it.
    std::optional<Turn> turn(const Constant& constant, bool above)
    {
        constexpr int kMostRounds = 8;
        auto found = comparedTurn(constant, above);
        for (int round = 0; m_searches && round < kMostRounds; ++round) {
            const double farthest = above ? constant.now * kFarthest : constant.now / kFarthest;
            const double inwards = above ? 1 - 2 * kPrecision : 1 + 2 * kPrecision;
            const double before = found ? found->first * inwards : farthest;
            if (above ? before <= constant.now : before >= constant.now)
                break;
            if (!addBestWith(constant.pointer, before))
                break;
            found = comparedTurn(constant, above);
        }
        if (!found)
            return {};
        return turnTo(found->first, m_layouts[found->second]);
    }

    /// Less memory takes the first away when it no longer fits; what more of it lets in may be better.
    PlanSensitivity memory()
    {
        PlanSensitivity of{.pointer = "/cluster/gpu/memory_gib",
                           .name = "memory of the GPU",
                           .unit = "GiB",
                           .now = firstScenario().cluster.gpu.memoryGib,
                           .isSearched = m_searches};
        const auto needs = [&](const PlannedLayout& layout) { return layout.peakMemoryGib + m_request.marginGib; };
        constexpr double kByte = 1 / kBytesPerGib;
        if (m_searches) {
            const auto less = bestWith(of.pointer, needs(first()) - kByte);
            of.below = less ? turnTo(needs(first()), *less) : Turn{needs(first()), {}, "nothing fits"};
            double above = of.now * kFarthest;
            while (const auto more = bestWith(of.pointer, above)) { // the leanest of those that are better
                if (more->paceSeconds() >= first().paceSeconds() || needs(*more) <= of.now)
                    break;
                of.above = turnTo(needs(*more), *more);
                above = needs(*more) - kByte;
            }
            return of;
        }
        auto next = m_layouts.end(); // the fastest of those with less
        for (auto at = m_layouts.begin() + 1; at != m_layouts.end(); ++at)
            if (at->peakMemoryGib < first().peakMemoryGib && (next == m_layouts.end() || at->paceSeconds() < next->paceSeconds()))
                next = at;
        of.below =
            next != m_layouts.end() ? turnTo(needs(first()), *next) : Turn{needs(first()), {}, "none of those compared fits"};
        return of;
    }

private:
    Turn turnTo(double value, const PlannedLayout& other) const { return {value, other, differenceText(other, first())}; }

    /// The best of all layouts where the constant has that value, as it is now.
    std::optional<PlannedLayout> bestWith(const std::string& pointer, double value) const
    {
        PlanRequest with = m_request;
        with.top = 1;
        hold(with, {pointer, Json(value).dump()}, m_catalogue);
        const PlanAnswer answer = plan(with, m_catalogue);
        if (answer.stopped)
            throw Cancelled();
        if (answer.best.empty())
            return {};
        const PlannedLayout& best = answer.best.front();
        const auto step = simulate(resolvedScenario(withSettings(m_request, best.settings), m_catalogue));
        return plannedLayout(best.grid, best.settings, *step, m_request.price, best.batches);
    }

    /// False: it is one of those that are compared already.
    bool addBestWith(const std::string& pointer, double value)
    {
        std::optional<PlannedLayout> best = bestWith(pointer, value);
        if (!best || std::any_of(m_layouts.begin(), m_layouts.end(),
                                 [&](const PlannedLayout& layout) { return layout.settings == best->settings; }))
            return false;
        m_scenarios.push_back(resolvedScenario(withSettings(m_request, best->settings), m_catalogue));
        m_layouts.push_back(*std::move(best));
        return true;
    }

    /// The layout that is first where the constant has that value; the first of equals.
    std::size_t firstWith(const Constant& constant, double value) const
    {
        std::vector<double> seconds(m_scenarios.size(), std::numeric_limits<double>::infinity());
        forEachInParallel(seconds.size(), m_threads, [&](std::size_t i) {
            checkCancelled();
            Scenario moved = m_scenarios[i];
            constant.set(moved.cluster, value);
            seconds[i] = simulate(moved)->metrics().stepTimeSeconds * m_layouts[i].batches;
        });
        return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
    }

    /// The nearest value on one side at which another of those compared is first; steps of two until there is one, then halves
    /// between.
    std::optional<std::pair<double, std::size_t>> comparedTurn(const Constant& constant, bool above) const
    {
        double near = 1;
        for (double far = 2; far <= kFarthest; far *= 2) {
            const auto at = [&](double times) { return above ? constant.now * times : constant.now / times; };
            std::size_t first = firstWith(constant, at(far));
            if (first == 0) {
                near = far;
                continue;
            }
            while (far / near > 1 + kPrecision) {
                const double middle = std::sqrt(near * far);
                const std::size_t there = firstWith(constant, at(middle));
                if (there == 0) {
                    near = middle;
                } else {
                    far = middle;
                    first = there;
                }
            }
            return std::pair{at(far), first};
        }
        return {};
    }

    const PlanRequest& m_request;
    const Catalogue& m_catalogue;
    std::vector<PlannedLayout> m_layouts; ///< the first of all, and those it is compared with
    std::vector<Scenario> m_scenarios;    ///< of these
    bool m_searches;
    std::size_t m_threads;
};

} // namespace

std::string differenceText(const PlannedLayout& other, const PlannedLayout& first)
{
    std::string words = other.grid == first.grid ? std::string() : other.grid.text();
    for (const auto& setting : other.settings) {
        const bool isSame = std::find(first.settings.begin(), first.settings.end(), setting) != first.settings.end();
        const std::string key = dotted(setting.first);
        if (isSame || isOfGrid(key) || key.starts_with("cluster.") || setting.second.starts_with('['))
            continue;      // lists follow from the rest
        std::string value; // {"kind":"full","layers":14} as "full layers 14"
        for (const char c : setting.second.starts_with("{\"kind\":") ? setting.second.substr(8) : setting.second)
            if (c == ':' || c == ',')
                value += ' ';
            else if (c != '"' && c != '{' && c != '}')
                value += c;
        words += (words.empty() ? "" : ", ") + key.substr(key.rfind('.') + 1) + " " + value;
    }
    return words;
}

std::vector<PlannedLayout> comparedLayouts(const PlanRequest& request, const Catalogue& catalogue, const PlanAnswer& answer)
{
    std::vector<PlannedLayout> layouts(
        answer.best.begin(), answer.best.begin() + static_cast<std::ptrdiff_t>(std::min(kMostOfBest, answer.best.size())));
    if (layouts.empty())
        return layouts;
    std::set<PlanGrid> grids;
    for (const PlannedLayout& layout : layouts)
        grids.insert(layout.grid);
    std::vector<const RejectedGrid*> nearest;
    for (const RejectedGrid& grid : answer.rejected)
        if (grid.leastFloorSeconds > 0 && !grids.contains(grid.grid))
            nearest.push_back(&grid);
    std::stable_sort(nearest.begin(), nearest.end(),
                     [](const RejectedGrid* a, const RejectedGrid* b) { return a->leastFloorSeconds < b->leastFloorSeconds; });
    if (nearest.size() > kMostOtherGrids)
        nearest.resize(kMostOtherGrids);
    for (const RejectedGrid* grid : nearest) {
        if (grid->best && grid->best->paceSeconds() <= grid->leastFloorSeconds) { // else not all of it was looked at
            layouts.push_back(*grid->best);
            continue;
        }
        for (PlannedLayout& best : planOfGrid(request, catalogue, grid->grid).best)
            layouts.push_back(std::move(best));
    }
    return layouts;
}

PlanAnswer planOfGrid(const PlanRequest& request, const Catalogue& catalogue, const PlanGrid& grid)
{
    PlanRequest of = request;
    of.top = 1;
    std::erase_if(of.fixed, [](const PlanSetting& fixed) { return isOfGrid(fixed.first); });
    std::erase_if(of.freed, [](const std::string& freed) { return isOfGrid(freed); });
    for (const auto& [key, size] : {std::pair{"layout.tp", grid.tp},
                                    {"layout.cp", grid.cp},
                                    {"layout.pp", grid.pp},
                                    {"layout.dp", grid.dp},
                                    {"layout.ep", grid.ep},
                                    {"layout.etp", grid.etp}})
        of.fixed.emplace_back(key, std::to_string(size));
    PlanAnswer answer = plan(of, catalogue);
    if (answer.stopped)
        throw Cancelled();
    answer.best.resize(std::min<std::size_t>(answer.best.size(), 1));
    for (PlannedLayout& best : answer.best)
        for (const PlanSetting& fixed : of.fixed) // what was held is no setting of what was found
            if (isOfGrid(fixed.first))
                best.settings.push_back(fixed);
    return answer;
}

bool isSoonSearched(const PlanAnswer& answer)
{
    constexpr std::int64_t kMostLaidOut = 1000, kMostFloors = 1'000'000; // a second, or a few
    return answer.proved && answer.tightened <= kMostLaidOut && answer.evaluated <= kMostFloors;
}

std::vector<PlanSensitivity> planSensitivities(const PlanRequest& request, const Catalogue& catalogue,
                                               const std::vector<PlannedLayout>& layouts, bool searches)
{
    std::vector<PlanSensitivity> found;
    if (layouts.empty() || (layouts.size() < 2 && !searches) || request.objective == PlanObjective::headroom)
        return found;
    Turns turns(request, catalogue, layouts, searches);
    for (const Constant& constant : constantsOf(turns.firstScenario())) {
        if (constant.now <= 0)
            continue;
        PlanSensitivity of{.pointer = constant.pointer, .name = constant.name, .unit = constant.unit, .now = constant.now};
        of.isSearched = searches;
        of.below = turns.turn(constant, false);
        of.above = turns.turn(constant, true);
        found.push_back(std::move(of));
    }
    found.push_back(turns.memory());
    return found;
}

std::string sensitivityText(const PlanSensitivity& of)
{
    const auto number = [&](double value) { return numberText(value, Unit::number) + " " + of.unit; };
    std::string text = of.name + ", " + number(of.now) + " here: ";
    if (!of.below && !of.above)
        return text + "first from a sixteenth to sixteen times of it";
    text += of.below && of.above ? "first from " + number(of.below->value) + " to " + number(of.above->value)
            : of.below           ? "first from " + number(of.below->value)
                                 : "first up to " + number(of.above->value);
    if (of.below)
        text += "; below it " + of.below->differs;
    if (of.above)
        text += "; above it " + of.above->differs;
    return text;
}

} // namespace sim
