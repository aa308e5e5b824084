// Findings of a scenario, and what their edits bring.
#pragma once

#include "sim/analysis/findings/findings.h"
#include "sim/simulate/memory_cap.h"
#include "tests/support/gallery.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

inline std::vector<sim::Finding> findingsOf(const Opened& opened)
{
    return findings(*opened.simulation, opened.document, catalogue());
}

inline std::vector<sim::Finding> findingsOf(const std::string& number, const std::vector<std::string>& overrides = {})
{
    return findingsOf(openNumber(number, overrides));
}

inline const sim::Finding* find(const std::vector<sim::Finding>& all, sim::FindingKind kind)
{
    const auto found = std::find_if(all.begin(), all.end(), [kind](const sim::Finding& f) { return f.kind == kind; });
    return found == all.end() ? nullptr : &*found;
}

inline bool has(const std::vector<sim::Finding>& all, sim::FindingKind kind)
{
    return find(all, kind) != nullptr;
}

/// What the edits of a finding bring, in the order of its edits.
inline std::vector<sim::EditEffect> effectsOf(const Opened& opened, const sim::Finding& finding)
{
    std::vector<sim::EditEffect> out;
    for (const sim::SuggestedEdit& edit : finding.suggestions) {
        const auto scenario = scenarioWith(edit, opened.document, catalogue());
        if (!scenario)
            throw std::runtime_error(edit.text + " is not legal");
        out.push_back(effectOf(opened.simulation->metrics(), simulate(*scenario)->metrics(), capacityGib(*scenario)));
    }
    return out;
}

inline bool anyHelps(const Opened& opened, sim::FindingKind kind)
{
    const auto all = findingsOf(opened);
    const sim::Finding* finding = find(all, kind);
    if (!finding)
        return false;
    const auto effects = effectsOf(opened, *finding);
    return std::any_of(effects.begin(), effects.end(), [&](const sim::EditEffect& e) { return helps(kind, e); });
}

/// Four A100s, any two of which have all of their links.
inline constexpr const char* kSwitched = R"(cluster.tiers=[{"name":"nvlink","span":4,"bandwidth_gbs":300,"latency_us":2.5}])";

} // namespace test
