#include "app/session/legal_values.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

namespace app {
namespace {

/// A slider of more stops than this is no help; candidates are thinned with growing size.
constexpr int kMostLayers = 256;
constexpr int kMostMicrobatches = 4096;
constexpr int kLongestSequence = 1 << 20;

void addDivisors(std::set<int>& out, int of)
{
    for (int d = 1; static_cast<long long>(d) * d <= of; ++d) {
        if (of % d == 0) {
            out.insert(d);
            out.insert(of / d);
        }
    }
}

void addUpTo(std::set<int>& out, int last)
{
    for (int i = 1; i <= last; ++i)
        out.insert(i);
}

/// 1 … 16, then four steps an octave: fine where small, never more than a few dozen.
std::vector<int> ladder(int last)
{
    std::vector<int> out;
    for (int i = 1; i <= std::min(16, last); ++i)
        out.push_back(i);
    for (int octave = 16; octave < last; octave *= 2) {
        for (int quarter = 5; quarter <= 8; ++quarter) {
            if (octave / 4 * quarter <= last)
                out.push_back(octave / 4 * quarter);
        }
    }
    return out;
}

/// Values worth trying, by what the number must divide or be a multiple of.
std::set<int> candidates(const sim::Scenario& s, Control control)
{
    std::set<int> out;
    const auto& layout = s.layout;
    const int layers = std::min(s.model.numHiddenLayers, kMostLayers);
    switch (control) {
    case Control::tp:
        addDivisors(out, s.model.numAttentionHeads);
        break;
    case Control::cp:
        addDivisors(out, layout.cp * layout.dp);
        addDivisors(out, 64);
        break;
    case Control::pp:
        addUpTo(out, layers);
        break;
    case Control::dp:
        addDivisors(out, s.training.globalBatchSize / std::max(1, s.training.microBatchSize));
        break;
    case Control::ep:
        addDivisors(out, std::max(1, s.model.numExperts));
        break;
    case Control::nodes: {
        const int needed = (layout.worldSize() + s.cluster.gpusPerNode - 1) / std::max(1, s.cluster.gpusPerNode);
        for (const int factor : ladder(64))
            out.insert(needed * factor);
        break;
    }
    case Control::virtualStages:
        addUpTo(out, std::max(1, layers / std::max(1, layout.pp)));
        break;
    case Control::microBatchSize:
        addDivisors(out, s.training.globalBatchSize / std::max(1, layout.dp));
        break;
    case Control::globalBatchSize: {
        const int unit = s.training.microBatchSize * layout.dp;
        for (const int microbatches : ladder(kMostMicrobatches)) {
            if (microbatches <= INT32_MAX / std::max(1, unit))
                out.insert(microbatches * unit);
        }
        // Interleaved schedules want whole groups of micro-batches.
        for (const int groups : ladder(64))
            out.insert(groups * layout.pp * unit);
        break;
    }
    case Control::sequenceLength:
        for (int length = 128; length <= kLongestSequence; length *= 2) {
            out.insert(length);
            out.insert(length / 2 * 3);
        }
        break;
    }
    return out;
}

bool isSet(const std::atomic<bool>* flag)
{
    return flag && flag->load(std::memory_order_relaxed);
}

/// What a value would break; nothing if it is legal.
std::optional<std::string> refusal(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                                   const sim::Scenario& lastLegal, Control control, int value, LayoutRule rule)
{
    if (rule == LayoutRule::keepGpus && !keepsGpus(document, &lastLegal, control, value)) {
        return std::to_string(lastLegal.layout.worldSize()) + " GPUs cannot be shared out with " +
               std::string(controlName(control)) + " " + std::to_string(value) + ": no whole dp is left";
    }
    sim::ScenarioDocument changed = document;
    apply(changed, makeEdit(document, &lastLegal, control, value, rule));
    const auto resolved = changed.resolve(catalogue);
    if (resolved.scenario)
        return std::nullopt;
    const auto problem = std::find_if(resolved.problems.begin(), resolved.problems.end(),
                                      [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
    return problem == resolved.problems.end() ? std::string("not possible") : problem->message;
}

} // namespace

bool LegalValues::contains(int value) const
{
    return std::binary_search(values.begin(), values.end(), value);
}

int LegalValues::stepped(int value, int steps) const
{
    if (values.empty() || steps == 0)
        return value;
    const auto last = static_cast<std::ptrdiff_t>(values.size()) - 1;
    // From between two legal values the first step goes to the next one in that direction.
    const auto above = std::upper_bound(values.begin(), values.end(), value) - values.begin();
    const auto atOrAbove = std::lower_bound(values.begin(), values.end(), value) - values.begin();
    const std::ptrdiff_t index = steps > 0 ? above + steps - 1 : atOrAbove + steps;
    return values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, last))];
}

int LegalValues::indexOfNearest(int value) const
{
    const auto nearest = std::min_element(values.begin(), values.end(), [value](int a, int b) {
        return std::llabs(static_cast<long long>(a) - value) < std::llabs(static_cast<long long>(b) - value);
    });
    return nearest == values.end() ? 0 : static_cast<int>(nearest - values.begin());
}

LegalValues legalValues(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue, const sim::Scenario& lastLegal,
                        Control control, LayoutRule rule, const std::atomic<bool>* cancel)
{
    LegalValues out;
    std::set<int> tried = candidates(lastLegal, control);
    tried.insert(controlValue(document, &lastLegal, control));
    for (const int value : tried) {
        if (isSet(cancel))
            return out;
        if (value >= 1 && !refusal(document, catalogue, lastLegal, control, value, rule))
            out.values.push_back(value);
    }
    if (out.values.empty())
        return out;
    const auto first = tried.find(out.values.front());
    const int below = first == tried.begin() ? out.values.front() / 2 : *std::prev(first);
    if (out.values.front() > 1 && below >= 1)
        out.whyNotLess = refusal(document, catalogue, lastLegal, control, below, rule).value_or("");
    const auto afterLast = std::next(tried.find(out.values.back()));
    const int above =
        afterLast == tried.end() ? (out.values.back() <= INT32_MAX / 2 ? out.values.back() * 2 : out.values.back()) : *afterLast;
    out.whyNotMore = refusal(document, catalogue, lastLegal, control, above, rule).value_or("");
    return out;
}

LegalValueTable legalValues(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                            const sim::Scenario& lastLegal, LayoutRule rule, const std::atomic<bool>* cancel)
{
    LegalValueTable out;
    for (const Control control : kControls) {
        if (isSet(cancel))
            break;
        out.emplace(control, legalValues(document, catalogue, lastLegal, control, rule, cancel));
    }
    return out;
}

} // namespace app
