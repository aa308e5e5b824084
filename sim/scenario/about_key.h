// A step that turns out to be too much once its program is known is refused like what the rules of a file refuse: with the key
// that makes it so, and the nearest value that would not.
#pragma once

#include "sim/scenario/document.h"

#include <string>

namespace sim {

/// What `work` throws is about a key of the scenario, unless it says about which.
template <typename Work>
auto aboutKey(const std::string& pointer, Work&& work)
{
    try {
        return work();
    } catch (const ScenarioError&) {
        throw;
    } catch (const Error& error) {
        throw ScenarioError({{.file = {}, .pointer = pointer, .message = error.what()}});
    }
}

/// What makes a micro-batch large: its sequences, or the tokens of the only one.
const char* microbatchKey(const Scenario&);

/// "96 (12 micro-batches)": the most sequences that are no more than so many micro-batches of each data-parallel rank, and that
/// the schedule takes; empty if there are none.
std::string nearestBatch(const Scenario&, double mostMicrobatches);

} // namespace sim
