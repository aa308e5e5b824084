#include "app/session/number_candidates.h"

#include "app/session/edit.h"
#include "sim/scenario/key_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace app {
namespace {

using Numbers = std::set<double>;
using Scenario = sim::Scenario;

/// A slider of more stops than this is no help.
constexpr int kMostStops = 256;
constexpr int kMostMicrobatches = 4096;
constexpr int kLongestSequence = 1 << 20;
/// The outer two may hold nothing but embedding and head.
constexpr int kStagesWithoutLayers = 2;

int atLeastOne(int value)
{
    return std::max(1, value);
}

void addDivisors(Numbers& out, std::int64_t of)
{
    for (std::int64_t d = 1; d * d <= of; ++d) {
        if (of % d == 0) {
            out.insert(static_cast<double>(d));
            out.insert(static_cast<double>(of / d));
        }
    }
}

void addRange(Numbers& out, int first, int last)
{
    for (int i = first; i <= std::min(last, first + kMostStops); ++i)
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

/// Powers of two and what lies half-way between them.
void addOctaves(Numbers& out, int first, int last)
{
    for (std::int64_t power = first; power <= last; power *= 2) {
        out.insert(static_cast<double>(power));
        if (power / 2 * 3 <= last && power >= 2)
            out.insert(static_cast<double>(power / 2 * 3));
    }
}

/// Round numbers from a tenth to a hundred times a value's decade, so that a slider keeps its range while the value moves in it.
void addDecades(Numbers& out, double value)
{
    constexpr std::array kRound{1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0};
    const double decade = value > 0 ? std::floor(std::log10(value)) : 0;
    for (double power = decade - 1; power <= decade + 1; ++power) {
        for (const double digit : kRound) {
            // Rounded in decimal: 3e-4 and not 0.00030000000000000003.
            const double scaled = power < 0 ? digit / std::pow(10.0, -power) : digit * std::pow(10.0, power);
            out.insert(scaled);
        }
    }
    out.insert(decade + 2 < 0 ? 1 / std::pow(10.0, -(decade + 2)) : std::pow(10.0, decade + 2));
}

/// As runs are told of: from one billion tokens to twenty trillion, eight of a decade.
void addTokens(Numbers& out)
{
    constexpr std::array kRound{1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0};
    constexpr double kMost = 20e12;
    for (double decade = 1e9; decade <= kMost; decade *= 10)
        for (const double digit : kRound)
            if (digit * decade <= kMost)
                out.insert(digit * decade);
}

/// A tier joins whole domains of the tier below it.
Numbers spans(const ScenarioState& state, std::string_view pointer)
{
    Numbers out;
    const auto tier = std::string(pointer.substr(0, pointer.rfind('/')));
    const std::size_t place = static_cast<std::size_t>(std::stoul(tier.substr(tier.rfind('/') + 1)));
    const double inner = place == 0 ? 1 : state.number("/cluster/tiers/" + std::to_string(place - 1) + "/span").value_or(1);
    for (const int factor : ladder(4096))
        out.insert(inner * factor);
    return out;
}

struct Rule {
    std::string_view pointer;
    void (*add)(Numbers&, const Scenario&);
};
/// Keys that must go into something, or something into them.
constexpr std::array kRules{
    Rule{Control::tp, [](Numbers& n, const Scenario& s) { addDivisors(n, s.model.numAttentionHeads); }},
    Rule{Control::cp,
         [](Numbers& n, const Scenario& s) {
             addDivisors(n, std::int64_t{s.layout.cp} * s.layout.dp);
             addDivisors(n, 64);
         }},
    Rule{Control::pp, [](Numbers& n, const Scenario& s) { addRange(n, 1, s.model.numHiddenLayers + kStagesWithoutLayers); }},
    Rule{Control::dp,
         [](Numbers& n, const Scenario& s) {
             addDivisors(n, s.training.globalBatchSize / atLeastOne(s.training.microBatchSize));
         }},
    Rule{Control::ep, [](Numbers& n, const Scenario& s) { addDivisors(n, atLeastOne(s.model.numExperts)); }},
    Rule{"/layout/etp", [](Numbers& n, const Scenario& s) { addDivisors(n, s.model.numAttentionHeads); }},
    Rule{"/layout/dp_shard", [](Numbers& n, const Scenario& s) { addDivisors(n, std::int64_t{s.layout.dp} * s.layout.cp); }},
    Rule{Control::nodes,
         [](Numbers& n, const Scenario& s) {
             const int needed = (s.layout.worldSize() + s.cluster.gpusPerNode - 1) / atLeastOne(s.cluster.gpusPerNode);
             for (const int factor : ladder(64))
                 n.insert(static_cast<double>(needed) * factor);
         }},
    Rule{"/cluster/gpus_per_node",
         [](Numbers& n, const Scenario&) {
             addOctaves(n, 1, 256);
             n.insert(72); // an NVL72 rack is one domain
         }},
    Rule{Control::virtualStages,
         [](Numbers& n, const Scenario& s) {
             const int stages = (s.model.numHiddenLayers + kStagesWithoutLayers) * s.modelCopies();
             addRange(n, 1, atLeastOne(stages / atLeastOne(s.layout.pp)));
         }},
    Rule{"/schedule/microbatch_group",
         [](Numbers& n, const Scenario& s) {
             addDivisors(n, s.microbatches());
             addRange(n, s.layout.pp, s.layout.pp + 16);
         }},
    Rule{"/schedule/sequence_slices", [](Numbers& n, const Scenario&) { addRange(n, 1, 64); }},
    Rule{Control::microBatchSize,
         [](Numbers& n, const Scenario& s) { addDivisors(n, s.training.globalBatchSize / atLeastOne(s.layout.dp)); }},
    Rule{Control::globalBatchSize,
         [](Numbers& n, const Scenario& s) {
             const std::int64_t unit = std::int64_t{s.training.microBatchSize} * s.layout.dp;
             for (const int microbatches : ladder(kMostMicrobatches))
                 n.insert(static_cast<double>(microbatches * unit));
             // Interleaved schedules want whole groups of micro-batches.
             for (const int groups : ladder(64))
                 n.insert(static_cast<double>(groups * s.layout.pp * unit));
         }},
    Rule{Control::sequenceLength, [](Numbers& n, const Scenario&) { addOctaves(n, 128, kLongestSequence); }},
    Rule{"/training/recompute/layers",
         [](Numbers& n, const Scenario& s) {
             const auto& layers = s.schedule.layersPerStage;
             addRange(n, 1, layers.empty() ? 1 : *std::max_element(layers.begin(), layers.end()));
         }},
    Rule{"/model/num_hidden_layers",
         [](Numbers& n, const Scenario& s) { addRange(n, 1, std::max(160, s.model.numHiddenLayers)); }},
    Rule{"/model/hidden_size",
         [](Numbers& n, const Scenario& s) {
             for (const int factor : ladder(512))
                 n.insert(static_cast<double>(factor) * atLeastOne(s.model.numAttentionHeads));
             addOctaves(n, 64, 65536);
         }},
    Rule{"/model/num_attention_heads",
         [](Numbers& n, const Scenario& s) {
             addDivisors(n, s.model.hiddenSize);
             n.erase(n.upper_bound(kMostStops), n.end());
         }},
    Rule{"/model/num_key_value_heads", [](Numbers& n, const Scenario& s) { addDivisors(n, s.model.numAttentionHeads); }},
    Rule{"/model/head_dim", [](Numbers& n, const Scenario&) { addOctaves(n, 16, 512); }},
    Rule{"/model/num_experts_per_tok", [](Numbers& n, const Scenario& s) { addRange(n, 1, std::min(s.model.numExperts, 64)); }},
    Rule{"/model/num_nextn_predict_layers", [](Numbers& n, const Scenario&) { addRange(n, 0, 4); }},
    Rule{"/model/num_shared_experts", [](Numbers& n, const Scenario&) { addRange(n, 0, 8); }},
    Rule{"/model/first_k_dense_replace", [](Numbers& n, const Scenario& s) { addRange(n, 0, s.model.numHiddenLayers); }},
    Rule{"/model/moe_layer_freq", [](Numbers& n, const Scenario&) { addRange(n, 1, 8); }},
    Rule{"/training/tokens", [](Numbers& n, const Scenario&) { addTokens(n); }},
    Rule{"/live/steps", [](Numbers& n, const Scenario&) { addOctaves(n, 1, 1 << 14); }},
};

/// Round numbers for what has no rule of its own.
void addByRange(Numbers& out, const sim::KeyFacts& facts, double value)
{
    const bool isFraction = facts.type == sim::KeyType::number && facts.high <= 1;
    if (isFraction) {
        for (int percent = 0; percent <= 100; ++percent)
            out.insert(percent / 100.0);
    } else if (facts.type == sim::KeyType::integer) {
        const int largest = value < 1 ? 64 : static_cast<int>(std::min(value * 16, 1e8));
        addRange(out, 0, 8);
        addOctaves(out, 1, std::max(64, largest));
    } else {
        out.insert(0);
        addDecades(out, value);
    }
}

/// About what is written there where somebody writes it at all. The least that the reader takes is no such number: of a peak that
/// a GPU does not have it is a millionth of a TFLOP/s.
double usual(const sim::KeyFacts& facts, std::string_view pointer, const Scenario& scenario)
{
    const auto& peaks = scenario.cluster.gpu.peakTflops;
    if (pointer.starts_with("/cluster/gpu/peak_tflops/") && !peaks.empty())
        return std::max_element(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
            ->second;
    return std::clamp(1.0, facts.low, std::max(facts.low, facts.high));
}

} // namespace

std::set<double> candidateNumbers(const ScenarioState& state, std::string_view pointer)
{
    Numbers out;
    const auto facts = sim::keyFacts(state.catalogue(), pointer);
    const bool isSpan = pointer.ends_with("/span");
    if (!facts || !state.lastLegal() || (facts->type != sim::KeyType::integer && facts->type != sim::KeyType::number))
        return out;
    const auto present = state.number(pointer);
    const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.pointer == pointer; });
    if (rule != kRules.end())
        rule->add(out, *state.lastLegal());
    else if (isSpan)
        out = spans(state, pointer);
    else if (pointer.ends_with("/rank")) {
        const int world = state.lastLegal()->layout.worldSize(), middle = static_cast<int>(present.value_or(0));
        for (int i = 0; i < std::min(world, kMostStops); ++i)
            out.insert(std::floor(static_cast<double>(i) * world / std::min(world, kMostStops)));
        addRange(out, std::max(0, middle - 1), middle + 1);
        out.insert(world - 1);
    } else
        addByRange(out, *facts, present.value_or(usual(*facts, pointer, *state.lastLegal())));
    if (present)
        out.insert(*present);
    if (present && *present > facts->high) // what the reader offers too
        out.insert(facts->high);
    std::erase_if(
        out, [&](double v) { return v < facts->low || v > facts->high || (facts->lowIsOpen && v <= facts->low) || v > 9e15; });
    return out;
}

} // namespace app
