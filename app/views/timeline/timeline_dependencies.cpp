#include "app/views/timeline/timeline_dependencies.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <map>
#include <set>
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

namespace {

Pass passAt(const TimelineModel& model, SpanRef ref)
{
    const sim::Track& track = model.trace().tracks[ref.track];
    const sim::SpanKind& kind = model.trace().kinds[track.kind[ref.span]];
    return {kind.opClass, kind.stage, track.microbatch[ref.span]};
}

/// Of other pipeline ranks, where the trace has its transfers between kernels instead of between actions: by the rule of a
/// pipeline, from the ranks that are a rank's own partners.
void addOfOtherRanks(const TimelineModel& model, SpanRef ref, std::vector<Dependency>& inputs, std::vector<Dependency>& outputs)
{
    const sim::Trace& trace = model.trace();
    const sim::Simulation& simulation = *model.simulation();
    const int process = trace.tracks[ref.track].process;
    sim::Coordinates at = simulation.mesh().coordinates(trace.processes[static_cast<std::size_t>(process)].rank);
    std::set<int> partners; // processes: one of each class
    for (int pp = 0; pp < simulation.scenario().layout.pp; ++pp)
        partners.insert(simulation.classOf(simulation.mesh().rank(at.tp, at.cp, at.dp, pp)));
    partners.erase(process);
    const Pass own = passAt(model, ref);
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
        const sim::Track& track = trace.tracks[t];
        if (track.role != sim::TrackRole::actions || !partners.contains(track.process))
            continue;
        for (std::uint32_t span = 0; span < track.size(); ++span) {
            if (track.microbatch[span] != own.microbatch)
                continue;
            if (const Pass other = passAt(model, {t, span}); needs(own, other))
                inputs.push_back({{t, span}, ref, true});
            else if (needs(other, own))
                outputs.push_back({ref, {t, span}, true});
        }
    }
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
        const auto pass = [&](std::uint32_t span) { return passAt(model, {ref.track, span}); };
        const Pass own = pass(ref.span);
        const bool hasKernels = model.trace().tracks[model.rows()[static_cast<std::size_t>(model.rowOf(ref.track))].work].role ==
                                sim::TrackRole::compute;
        if (hasKernels && model.simulation() != nullptr)
            addOfOtherRanks(model, ref, inputs, outputs);
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
