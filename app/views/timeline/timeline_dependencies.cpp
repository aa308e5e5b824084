#include "app/views/timeline/timeline_dependencies.h"

#include "app/views/common/labels.h"

#include <algorithm>

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
        for (std::uint32_t span = 0; span < track.size(); ++span) {
            if (track.microbatch[span] != own.microbatch || span == ref.span)
                continue;
            const SpanRef other{ref.track, span};
            if (span < ref.span && needs(own, pass(span)))
                inputs.push_back({other, ref});
            else if (span > ref.span && needs(pass(span), own))
                outputs.push_back({ref, other});
        }
    }
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    return inputs;
}

std::string actionName(const TimelineModel& model, SpanRef ref)
{
    const sim::Track& track = model.trace().tracks[ref.track];
    const std::string& name = model.kindName(track.kind[ref.span]);
    return track.role == sim::TrackRole::actions && track.microbatch[ref.span] >= 0
               ? name + std::to_string(track.microbatch[ref.span])
               : name;
}

std::string dependencyText(const TimelineModel& model, SpanRef ref)
{
    std::string needed, fed;
    for (const Dependency& d : dependenciesOf(model, ref)) {
        const bool isInput = d.to == ref;
        std::string& list = isInput ? needed : fed;
        list += (list.empty() ? "" : ", ") + actionName(model, isInput ? d.from : d.to);
    }
    std::string text = needed.empty() ? "" : "needs " + needed;
    if (!fed.empty())
        text += (text.empty() ? "feeds " : "\nfeeds ") + fed;
    return text;
}

} // namespace app
