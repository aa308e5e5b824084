// Small jobs at random, and every legal layout of one by trying them all: what the planner is compared with.
#pragma once

#include "sim/planner/planner.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace test {

class PlanDice {
public:
    explicit PlanDice(unsigned seed) : m_engine(seed) {}
    template <typename T>
    T of(const std::vector<T>& values)
    {
        return values[m_engine() % values.size()];
    }
    int of(std::initializer_list<int> values) { return of(std::vector<int>(values)); }
    std::string word(std::initializer_list<const char*> words) { return of(std::vector<const char*>(words)); }
    bool oneIn(unsigned n) { return m_engine() % n == 0; }

private:
    std::mt19937 m_engine;
};

inline std::vector<int> divisorsOf(int number)
{
    std::vector<int> all;
    for (int i = 1; i <= number; ++i)
        if (number % i == 0)
            all.push_back(i);
    return all;
}

/// A model of some layers, dense or of experts, on up to `most` GPUs; nothing is held.
inline sim::PlanRequest randomJob(PlanDice& dice, std::vector<int> gpus)
{
    const int heads = dice.of({4, 6, 8, 12}), layers = dice.of({2, 3, 4, 5, 6});
    sim::ScenarioDocument job = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
        "model": {"vocab_size": 4096, "max_position_embeddings": 2048}, "cluster": {"base": "h100-sxm-ib400"},
        "layout": {"tp": 1, "dp": 1}, "training": {"sequence_length": 512}})");
    const auto put = [&](const char* pointer, int value) { job.set(pointer, std::to_string(value)); };
    put("model.num_hidden_layers", layers);
    put("model.hidden_size", heads * 64);
    put("model.intermediate_size", dice.of({768, 1152, 1536}));
    put("model.num_attention_heads", heads);
    put("model.num_key_value_heads", dice.of(divisorsOf(heads)));
    if (dice.oneIn(3)) {
        put("model.num_experts", dice.of({4, 6, 8}));
        put("model.num_experts_per_tok", 2);
        put("model.moe_intermediate_size", 384);
        put("model.first_k_dense_replace", dice.of({0, 1}));
    }
    if (dice.oneIn(4))
        job.set("model.tie_word_embeddings", "true");
    put("cluster.gpus_per_node", dice.of({2, 4, 8}));
    put("training.global_batch_size", dice.of({4, 6, 8, 12}));
    put("training.sequence_length", dice.of({512, 1024}));
    sim::PlanRequest request{.document = job};
    request.gpus = dice.of(gpus);
    request.jobs = 1;
    return request;
}

/// Holds a kind and recomputation, and more, so that a few hundred layouts are left.
inline void holdSome(sim::PlanRequest& request, PlanDice& dice)
{
    request.fixed.emplace_back("schedule.kind", dice.word({"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "looped-bfs", "zb-v"}));
    request.fixed.emplace_back("training.recompute", dice.word({"none", "selective", "full"}));
    request.fixed.emplace_back("layout.sequence_parallel", dice.word({"true", "false"}));
    if (!dice.oneIn(3))
        request.fixed.emplace_back("layout.zero_stage", std::to_string(dice.of({0, 1, 2, 3})));
    if (dice.oneIn(3))
        request.fixed.emplace_back("training.micro_batch_size", std::to_string(dice.of({1, 2})));
}

struct TriedLayout {
    sim::PlanGrid grid;
    std::vector<sim::PlanSetting> settings;
    double stepSeconds = 0, peakMemoryGib = 0;
    int batch = 0;
    bool fitsHost = true;
};

/// Every layout that the reader takes, of those that differ in what they do, each simulated: dimension by dimension what it may
/// be beside those before it. Nobody is asked but the reader and the engine.
class EveryLayout {
public:
    explicit EveryLayout(const sim::PlanRequest& request) : m_request(request), m_job(sim::withSettings(request, {}))
    {
        for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
            if (!family.isSearched && !family.isWrittenOut && !family.cutsSequences())
                m_kinds.emplace_back(family.kind);
        takeFrom(0);
    }
    const std::vector<TriedLayout>& all() const { return m_all; }

private:
    static constexpr std::array kDimensions{"layout.tp",
                                            "layout.cp",
                                            "layout.pp",
                                            "layout.dp",
                                            "layout.ep",
                                            "layout.etp",
                                            "training.global_batch_size",
                                            "training.micro_batch_size",
                                            "layout.sequence_parallel",
                                            "layout.zero_stage",
                                            "layout.dp_shard",
                                            "schedule.kind",
                                            "schedule.virtual_stages",
                                            "training.recompute"};

    int ofJob(const char* pointer) const { return std::stoi(m_job.get(pointer).value_or("0")); }
    int chosen(const std::string& pointer) const
    {
        const auto found =
            std::find_if(m_chosen.begin(), m_chosen.end(), [&](const auto& setting) { return setting.first == pointer; });
        return found == m_chosen.end() ? 1 : std::stoi(found->second);
    }
    std::optional<std::string> held(const std::string& pointer) const
    {
        for (const auto& [key, value] : m_request.fixed)
            if (key == pointer)
                return value;
        return std::nullopt;
    }
    bool frees(const std::string& pointer) const
    {
        return std::find(m_request.freed.begin(), m_request.freed.end(), pointer) != m_request.freed.end();
    }

    std::vector<std::string> valuesOf(const std::string& pointer) const
    {
        if (const auto value = held(pointer))
            return {*value};
        const int gpus = m_request.gpus, tp = chosen("layout.tp"), cp = chosen("layout.cp"), pp = chosen("layout.pp"),
                  dp = chosen("layout.dp"), experts = ofJob("model.num_experts"), layers = ofJob("model.num_hidden_layers");
        const auto words = [](const std::vector<int>& numbers, auto&& takes) {
            std::vector<std::string> texts;
            for (const int number : numbers)
                if (takes(number))
                    texts.push_back(std::to_string(number));
            return texts;
        };
        const auto any = [](int) { return true; };
        const bool spreads = experts > 0 && chosen("layout.ep") * chosen("layout.etp") > 1;
        const auto upTo = [](int most) {
            std::vector<int> numbers;
            for (int i = 1; i <= most; ++i)
                numbers.push_back(i);
            return numbers;
        };
        if (pointer == "layout.tp")
            return words(divisorsOf(gpus), any);
        if (pointer == "layout.cp")
            return words(divisorsOf(gpus / tp), any);
        if (pointer == "layout.pp")
            return words(divisorsOf(gpus / tp / cp), any);
        if (pointer == "layout.dp")
            return words({gpus / tp / cp / pp}, [](int size) { return size > 0; }); // none beside sizes that are held
        if (pointer == "layout.ep")
            return words(divisorsOf(gpus / pp), [&](int ep) { return experts % ep == 0; });
        if (pointer == "layout.etp")
            return words(divisorsOf(gpus / pp / chosen("layout.ep")), any);
        if (pointer == "training.global_batch_size")
            return frees(pointer) ? words(upTo(ofJob("training.global_batch_size")), any)
                                  : std::vector{*m_job.get("training.global_batch_size")};
        if (pointer == "training.micro_batch_size") {
            const int batch = chosen("training.global_batch_size");
            return words(upTo(batch), [&](int size) { return batch % (size * dp) == 0; });
        }
        if (pointer == "layout.sequence_parallel")
            return tp > 1 ? std::vector<std::string>{"false", "true"} : std::vector<std::string>{"false"};
        if (pointer == "layout.zero_stage") { // experts may have replicas where nothing else has
            const bool hasReplicas = dp * cp > 1 || gpus > pp * chosen("layout.ep") * (experts > 0 ? chosen("layout.etp") : tp);
            return hasReplicas ? std::vector<std::string>{"0", "1", "2", "3"} : std::vector<std::string>{"0"};
        }
        if (pointer == "layout.dp_shard")
            return chosen("layout.zero_stage") == 0 || dp * cp == 1
                       ? std::vector{std::to_string(dp * cp)}
                       : words(divisorsOf(dp * cp), [](int shard) { return shard > 1; });
        if (pointer == "schedule.kind")
            return pp > 1 ? m_kinds : spreads ? std::vector<std::string>{"1f1b", "dualpipe-v"} : std::vector<std::string>{"1f1b"};
        if (pointer == "schedule.virtual_stages")
            return words(upTo(pp == 1 && !held("schedule.kind") && !spreads ? 1 : layers + 2), any);
        std::vector<std::string> recomputes{"none", "selective"};
        for (int again = 1; again <= layers; ++again)
            recomputes.push_back(R"({"kind":"full","layers":)" + std::to_string(again) + "}");
        return recomputes;
    }

    void takeFrom(std::size_t dimension)
    {
        if (dimension == kDimensions.size()) {
            take();
            return;
        }
        const std::string pointer = kDimensions[dimension];
        if (ofJob("model.num_experts") == 0 && (pointer == "layout.ep" || pointer == "layout.etp")) {
            takeFrom(dimension + 1);
            return;
        }
        for (const std::string& value : valuesOf(pointer)) {
            m_chosen.emplace_back(pointer, value);
            takeFrom(dimension + 1);
            m_chosen.pop_back();
        }
    }

    void take()
    {
        sim::PlanGrid grid{.tp = chosen("layout.tp"),
                           .cp = chosen("layout.cp"),
                           .pp = chosen("layout.pp"),
                           .dp = chosen("layout.dp"),
                           .ep = chosen("layout.ep"),
                           .etp = chosen("layout.etp")};
        if (ofJob("model.num_experts") == 0)
            grid.etp = grid.tp;
        if (grid.tp * grid.cp * grid.pp * grid.dp != m_request.gpus)
            return;
        const auto resolved = sim::withSettings(m_request, m_chosen).resolve(catalogue());
        if (!resolved.scenario)
            return;
        const std::vector<int>& layers = resolved.scenario->schedule.layersPerStage;
        if (!held("training.recompute") &&
            resolved.scenario->training.recomputeLayers > *std::max_element(layers.begin(), layers.end()))
            return; // as with one less
        const auto step = sim::simulate(*resolved.scenario);
        m_all.push_back({.grid = grid,
                         .settings = m_chosen,
                         .stepSeconds = step->metrics().stepTimeSeconds,
                         .peakMemoryGib = step->metrics().peakMemoryGib,
                         .batch = chosen("training.global_batch_size"),
                         .fitsHost = step->metrics().hostFits});
    }

    const sim::PlanRequest& m_request;
    sim::ScenarioDocument m_job;
    std::vector<std::string> m_kinds;
    std::vector<sim::PlanSetting> m_chosen;
    std::vector<TriedLayout> m_all;
};

inline constexpr double kNoLayout = std::numeric_limits<double>::infinity();

/// Of those that fit into so much, and their hosts: the least of what is counted, and of equals of the other.
inline std::pair<double, double> leastOf(const std::vector<TriedLayout>& layouts, double capacityGib,
                                         sim::PlanObjective objective)
{
    std::pair best{kNoLayout, kNoLayout};
    for (const TriedLayout& layout : layouts) {
        if (layout.peakMemoryGib > capacityGib || !layout.fitsHost)
            continue;
        const std::pair of{layout.stepSeconds, layout.peakMemoryGib};
        best = std::min(best, objective == sim::PlanObjective::headroom ? std::pair{of.second, of.first} : of);
    }
    return best;
}

/// A margin under which some of them fit and some do not; 0: none.
inline double someMargin(const std::vector<TriedLayout>& layouts, PlanDice& dice, double gpuGib)
{
    if (layouts.empty() || dice.oneIn(3))
        return 0;
    std::vector<double> peaks;
    for (const TriedLayout& layout : layouts)
        peaks.push_back(layout.peakMemoryGib);
    std::sort(peaks.begin(), peaks.end());
    const std::size_t at = peaks.size() * static_cast<std::size_t>(dice.of({0, 2, 10, 40})) / 100;
    return std::max(0.0, gpuGib - peaks[at] * (1 + 1e-9));
}

inline std::string jobText(const sim::PlanRequest& request)
{
    std::string text =
        request.document.text() + "\n" + std::to_string(request.gpus) + " GPUs, margin " + std::to_string(request.marginGib);
    for (const auto& [pointer, value] : request.fixed)
        text += " " + pointer + "=" + value;
    return text;
}

} // namespace test
