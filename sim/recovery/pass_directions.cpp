#include "sim/recovery/pass_directions.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>

namespace sim {
namespace {

/// Backwards that recompute are preceded by their forwards, layer by layer or all at once: each takes the nearest one before it
/// that no other has, as long as there are more forwards than backwards. Where only some layers are run again, those are the ones
/// that begin after the backward before.
void dropRecomputed(std::vector<std::int64_t>& forwards, const std::vector<std::int64_t>& backwards)
{
    std::size_t surplus = forwards.size() - std::min(forwards.size(), backwards.size());
    const bool isAll = surplus >= backwards.size();
    std::vector<std::int64_t> kept;
    auto next = forwards.begin();
    std::int64_t before = INT64_MIN;
    for (const std::int64_t backward : backwards) {
        for (; next != forwards.end() && *next < backward; ++next)
            kept.push_back(*next);
        if (surplus > 0 && !kept.empty() && (isAll || kept.back() > before)) {
            kept.pop_back();
            --surplus;
        }
        before = backward;
    }
    kept.insert(kept.end(), next, forwards.end());
    forwards = std::move(kept);
}

} // namespace

KernelWords::KernelWords(const RunEvidence& evidence)
{
    for (std::string name : evidence.names) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
        const auto holdsOneOf = [&name](std::initializer_list<const char*> words) {
            return std::any_of(words.begin(), words.end(),
                               [&name](const char* word) { return name.find(word) != std::string::npos; });
        };
        isBackward.push_back(holdsOneOf({"backward", "bwd", "bprop", "dgrad", "wgrad"}));
        isAttention.push_back(holdsOneOf({"flash", "fmha", "sdpa", "attention", "attn.core", "attn.scores", "softmax", "bmm"}));
    }
}

PassDirections passDirections(const KernelWords& words, const RankEvidence& rank,
                              const std::pair<std::int64_t, std::int64_t>& window)
{
    std::map<std::uint32_t, std::int64_t> took[2]; // [is backward][name]
    const auto isOfStep = [&](const WorkSpan& span) {
        return span.work == DeviceWork::kernel && span.startNs >= window.first && span.startNs <= window.second &&
               words.isAttention[span.name];
    };
    for (const WorkSpan& span : rank.work)
        if (isOfStep(span))
            took[words.isBackward[span.name] ? 1 : 0][span.name] += span.endNs - span.startNs;
    PassDirections result;
    if (took[0].empty() || took[1].empty())
        return result;
    const auto longest = [](const std::map<std::uint32_t, std::int64_t>& of) {
        return std::max_element(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
    };
    const std::uint32_t forward = longest(took[0]), backward = longest(took[1]);
    for (const WorkSpan& span : rank.work)
        if (isOfStep(span) && (span.name == forward || span.name == backward))
            (span.name == forward ? result.forwardNs : result.backwardNs).push_back(span.startNs);
    if (result.forwardNs.size() > result.backwardNs.size())
        dropRecomputed(result.forwardNs, result.backwardNs);
    return result;
}

std::string PassDirections::asPasses(std::size_t forwards, std::size_t backwards) const
{
    if (!areKnown() || forwards > forwardNs.size() || backwards > backwardNs.size())
        return {};
    std::vector<std::pair<std::int64_t, char>> begins;
    for (std::size_t i = 0; i < forwards; ++i)
        begins.emplace_back(forwardNs[i * forwardNs.size() / forwards], 'F');
    for (std::size_t i = 0; i < backwards; ++i)
        begins.emplace_back(backwardNs[i * backwardNs.size() / backwards], 'B');
    std::stable_sort(begins.begin(), begins.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [ns, way] : begins)
        text += way;
    return text;
}

std::string directionsOf(const std::vector<Action>& row)
{
    std::string text;
    for (const Action& action : row)
        if (action.kind != ActionKind::backwardWeight)
            text += action.kind == ActionKind::forward ? 'F' : 'B';
    return text;
}

} // namespace sim
