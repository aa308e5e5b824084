#include "app/views/timeline/timeline_dependencies.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <map>
#include <utility>

namespace app {
namespace {

struct Pass {
    sim::OpClass opClass;
    int stage, microbatch;
};

bool isGradient(sim::OpClass c)
{
    return c == sim::OpClass::backward || c == sim::OpClass::backwardInput;
}

/// The rule of a pipeline: does `after` need the result of `before`? Both of one micro-batch.
bool needs(const Pass& after, const Pass& before)
{
    if (after.microbatch != before.microbatch)
        return false;
    if (after.opClass == sim::OpClass::forward)
        return before.opClass == sim::OpClass::forward && before.stage == after.stage - 1;
    if (isGradient(after.opClass))
        return (before.opClass == sim::OpClass::forward && before.stage == after.stage) ||
               (isGradient(before.opClass) && before.stage == after.stage + 1);
    return after.opClass == sim::OpClass::backwardWeight && before.opClass == sim::OpClass::backwardInput &&
           before.stage == after.stage;
}

/// "F1, B1 of pp 1": each once, with how many where several are called so.
std::string listOf(const std::vector<std::string>& names)
{
    std::vector<std::pair<std::string, int>> counted;
    for (const std::string& name : names) {
        const auto known = std::find_if(counted.begin(), counted.end(), [&](const auto& one) { return one.first == name; });
        if (known == counted.end())
            counted.emplace_back(name, 1);
        else
            ++known->second;
    }
    std::string text;
    for (const auto& [name, count] : counted)
        text += (text.empty() ? "" : ", ") + name + (count > 1 ? " × " + std::to_string(count) : "");
    return text;
}

} // namespace

std::vector<Dependency> dependenciesOf(const TimelineModel& model, SpanRef ref)
{
    std::vector<Dependency> inputs, outputs;
    for (const sim::Flow& flow : model.flowsAt(ref)) {
        const Dependency transfer{{flow.fromTrack, flow.fromSpan}, {flow.toTrack, flow.toSpan}, true};
        (transfer.to == ref ? inputs : outputs).push_back(transfer);
    }
    const sim::Track& track = model.trace().tracks[ref.track];
    if (track.role == sim::TrackRole::actions && track.microbatch[ref.span] >= 0) {
        const auto pass = [&](std::size_t span) {
            const sim::SpanKind& kind = model.trace().kinds[track.kind[span]];
            return Pass{kind.opClass, kind.stage, track.microbatch[span]};
        };
        const Pass own = pass(ref.span);
        // A lane of what a rank does all along has an action in pieces: its result is there after the last, it is asked for by
        // the first.
        std::map<std::uint32_t, std::uint32_t> lastNeeded, firstFed; // by kind
        for (std::uint32_t span = 0; span < track.size(); ++span) {
            if (track.microbatch[span] != own.microbatch || span == ref.span)
                continue;
            if (span < ref.span && needs(own, pass(span)))
                lastNeeded.insert_or_assign(track.kind[span], span);
            else if (span > ref.span && needs(pass(span), own))
                firstFed.try_emplace(track.kind[span], span);
        }
        for (const auto& [kind, span] : lastNeeded)
            inputs.push_back({{ref.track, span}, ref});
        for (const auto& [kind, span] : firstFed)
            outputs.push_back({ref, {ref.track, span}});
    }
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    return inputs;
}

std::string dependencyText(const TimelineModel& model, SpanRef ref)
{
    std::vector<std::string> needed, fed;
    for (const Dependency& d : dependenciesOf(model, ref)) {
        const bool isInput = d.to == ref;
        (isInput ? needed : fed).push_back(model.nameBeside(isInput ? d.from : d.to, model.rowOf(ref.track)));
    }
    std::string text = needed.empty() ? "" : "needs " + listOf(needed);
    if (!fed.empty())
        text += (text.empty() ? "feeds " : "\nfeeds ") + listOf(fed);
    return text;
}

} // namespace app
