#include "sim/planner/guide.h"

#include "sim/analysis/likely_ratio.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/planner/planned_layout.h"
#include "sim/planner/space.h"
#include "sim/scenario/pointer_text.h"
#include "sim/simulate/simulation.h"
#include "sim/text/beside_limit.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace sim {
namespace {

std::string guideMemory(double gib)
{
    return numberText(gib * kBytesPerGib, Unit::bytes);
}

/// "93.1 GiB of 80.0 GiB": with the digits that show it, where it is more.
std::string guideUse(double needGib, double haveGib, const char* of = " of ")
{
    const BesideLimit beside(needGib * kBytesPerGib, haveGib * kBytesPerGib, Unit::bytes);
    return beside.need() + of + beside.limit();
}

/// Sizes of a copy of the model and whether its layers run again.
struct Walked {
    int tp = 1, cp = 1, pp = 1, ep = 1;
    int etp = 0;      ///< 0: as usual, tp
    int copyGpus = 1; ///< GPUs that hold the model once
    bool recomputes = false;
};

struct Measured {
    double peakGib = 0;
    MemoryBreakdown memory; ///< of the fullest rank
    std::shared_ptr<const Simulation> simulation;
};

class GuideWalk {
public:
    GuideWalk(const PlanRequest& request, const Catalogue& catalogue)
        : m_request(request), m_catalogue(catalogue), m_space(request, catalogue), m_base(m_space.base)
    {
    }

    PlanGuide walk()
    {
        m_guide.gpus = m_space.gpus;
        const int node = m_base.cluster.gpusPerNode;
        layerGate();
        std::optional<Walked> copy;
        if (const auto one = smallest({Walked{}})) {
            m_guide.gates.push_back(gate("Does the model fit a GPU?", true, *one,
                                         "no dimension but data parallelism is needed: a copy on every GPU"));
            copy = one->first;
        } else {
            const Measured least = leastOf({Walked{.recomputes = true}});
            m_guide.gates.push_back(gateNo("Does the model fit a GPU?", least,
                                           "it has to be split; the layer's own products first, over the fastest links"));
            std::vector<Walked> inNode;
            for (int tp = 2; tp <= node; ++tp)
                if (node % tp == 0) {
                    inNode.push_back({.tp = tp, .copyGpus = tp});
                    if (m_base.model.numExperts > 0 && m_base.model.numExperts % tp == 0)
                        inNode.push_back({.ep = tp, .copyGpus = tp});
                }
            if (const auto found = smallest(inNode)) {
                m_guide.gates.push_back(
                    gate("Does the model fit a node?", true, *found,
                         describe(found->first) + " in a node of " + std::to_string(node) + "; nothing of it leaves the node"));
                copy = found->first;
            } else {
                const Measured most = leastOf(inNode);
                m_guide.gates.push_back(gateNo("Does the model fit a node?", most,
                                               "tensor parallelism ends at the node's " + std::to_string(node) +
                                                   " GPUs: beyond it stages of a pipeline, which send little"));
                const auto overNodes = smallest(acrossNodes());
                if (overNodes) {
                    m_guide.gates.push_back(gate("How many nodes hold one copy?", true, *overNodes,
                                                 describe(overNodes->first) + ": " +
                                                     std::to_string((overNodes->first.copyGpus + node - 1) / node) + " nodes, " +
                                                     std::to_string(overNodes->first.copyGpus) + " GPUs a copy"));
                    copy = overNodes->first;
                } else {
                    const Measured best = leastOf(acrossNodes());
                    m_guide.gates.push_back(
                        gateNo("How many nodes hold one copy?", best,
                               "more GPUs than these " + countText(m_space.gpus) + ", or states sharded over data parallelism"));
                }
            }
        }
        if (!copy) {
            m_guide.end = "no copy of the model fits these " + countText(m_space.gpus) + " GPUs as the path is taught";
            return std::move(m_guide);
        }
        scaleOut(*copy);
        return std::move(m_guide);
    }

private:
    static std::string countText(int number) { return numberText(number, Unit::count); }

    static std::string describe(const Walked& of)
    {
        std::string text;
        for (const auto& [name, size] : {std::pair{"tp", of.tp}, {"cp", of.cp}, {"ep", of.ep}, {"etp", of.etp}, {"pp", of.pp}})
            if (size > 1 || (of.etp == 1 && of.tp > 1 && std::string_view(name) == "etp"))
                text += (text.empty() ? "" : " × ") + std::string(name) + " " + std::to_string(size);
        text = text.empty() ? "one GPU" : text;
        return of.recomputes ? text + ", layers run again in the backward pass" : text;
    }

    std::vector<PlanSetting> settingsOf(const Walked& of, int dp) const
    {
        std::vector<PlanSetting> settings{{"layout.tp", std::to_string(of.tp)},
                                          {"layout.cp", std::to_string(of.cp)},
                                          {"layout.pp", std::to_string(of.pp)},
                                          {"layout.dp", std::to_string(dp)},
                                          {"layout.ep", std::to_string(of.ep)},
                                          {"layout.sequence_parallel", of.tp > 1 ? "true" : "false"},
                                          {"layout.zero_stage", dp * of.cp > 1 ? "1" : "0"},
                                          {"schedule.kind", "\"1f1b\""},
                                          {"schedule.virtual_stages", "1"},
                                          {"training.micro_batch_size", "1"},
                                          {"training.recompute", of.recomputes ? "\"full\"" : "\"none\""}};
        if (of.etp > 0)
            settings.emplace_back("layout.etp", std::to_string(of.etp));
        if (m_space.unsaidBatch())
            settings.push_back(*m_space.unsaidBatch());
        if (const auto software = softwareOf(m_request.framework, withSettings(m_request, {}), 1)) // as the plan beside it
            settings.emplace_back("training.stack", *software);
        const int gpus = of.tp * of.cp * of.pp * dp, node = m_base.cluster.gpusPerNode;
        settings.emplace_back("cluster.nodes", std::to_string((gpus + node - 1) / node));
        return settings;
    }

    /// `isJob`: with the job's own batch, else as many micro-batches as fill the pipeline.
    std::optional<Measured> measure(const Walked& of, int dp, bool isJob, int layers = 0) const
    {
        checkCancelled();
        ScenarioDocument job = guideDocument(m_request, settingsOf(of, dp));
        if (!isJob) {
            job.set("training.global_batch_size", std::to_string(of.pp * dp));
            if (job.get("perturbations"))
                job.erase("perturbations"); // of ranks that are not there
        }
        if (layers > 0)
            job.set("model.num_hidden_layers", std::to_string(layers));
        const auto resolved = job.resolve(m_catalogue);
        if (!resolved.scenario)
            return std::nullopt;
        Measured measured;
        try {
            measured.simulation = simulate(*resolved.scenario);
        } catch (const Error&) { // too large to be laid out here
            return std::nullopt;
        }
        const Metrics& metrics = measured.simulation->metrics();
        measured.peakGib = metrics.peakMemoryGib;
        for (const PipelineRankMetrics& rank : metrics.perPipelineRank)
            if (rank.memory.total() > measured.memory.total())
                measured.memory = rank.memory;
        return measured;
    }

    double capacityGib() const { return m_base.cluster.gpu.memoryGib - m_request.marginGib; }
    bool fits(const Measured& measured) const { return measured.peakGib <= capacityGib(); }

    /// As they are laid out to be measured alone: a copy whose experts lie on several GPUs needs as many.
    static int copiesOf(const Walked& of) { return of.copyGpus / (of.tp * of.cp * of.pp); }

    /// The first that fits; running layers again only where nothing else of as many GPUs does.
    std::optional<std::pair<Walked, Measured>> smallest(std::vector<Walked> of) const
    {
        std::stable_sort(of.begin(), of.end(), [](const Walked& a, const Walked& b) { return a.copyGpus < b.copyGpus; });
        for (std::size_t i = 0; i < of.size();) {
            std::size_t end = i;
            while (end < of.size() && of[end].copyGpus == of[i].copyGpus)
                ++end;
            for (const bool recomputes : {false, true})
                for (std::size_t j = i; j < end; ++j) {
                    Walked tried = of[j];
                    tried.recomputes = recomputes;
                    if (auto measured = measure(tried, copiesOf(tried), false); measured && fits(*measured))
                        return std::pair{tried, *std::move(measured)};
                }
            i = end;
        }
        return std::nullopt;
    }

    /// Of what does not fit, what is nearest to it.
    Measured leastOf(const std::vector<Walked>& of) const
    {
        std::optional<Measured> least;
        for (Walked tried : of) {
            tried.recomputes = true;
            if (auto measured = measure(tried, copiesOf(tried), false);
                measured && (!least || measured->peakGib < least->peakGib))
                least = std::move(measured);
        }
        return least.value_or(Measured{});
    }

    std::vector<Walked> acrossNodes() const
    {
        std::vector<Walked> all;
        const int node = m_base.cluster.gpusPerNode, layers = m_base.model.numHiddenLayers;
        const int experts = m_base.model.numExperts;
        for (int pp = 1; pp <= layers && pp <= m_space.gpus; ++pp) {
            const auto add = [&](Walked of) {
                of.pp = pp;
                if (of.copyGpus > 0 && of.copyGpus <= m_space.gpus && m_space.gpus % of.copyGpus == 0)
                    all.push_back(of);
            };
            if (pp > 1)
                add({.tp = node, .copyGpus = node * pp});
            for (int ep = node; experts > 0 && ep <= experts; ep *= 2)
                if (experts % ep == 0 && (pp > 1 || ep > node))
                    add({.ep = ep, .copyGpus = ep * pp});
            for (int cp = 2; cp <= 16; cp *= 2)
                add({.tp = node, .cp = cp, .copyGpus = node * cp * pp});
        }
        return all;
    }

    std::string states(const MemoryBreakdown& memory) const
    {
        return "weights " + gibText(memory.parameters) + ", gradients " + gibText(memory.gradients) + ", optimizer " +
               gibText(memory.optimizer) + ", activations " + gibText(memory.activations + memory.buffers);
    }

    GuideGate gate(std::string question, bool yes, const std::pair<Walked, Measured>& of, std::string then) const
    {
        GuideGate out{.question = std::move(question), .yes = yes, .then = std::move(then)};
        out.needGib = of.second.peakGib;
        out.haveGib = capacityGib();
        out.numbers = describe(of.first) + ": " + guideUse(out.needGib, out.haveGib) + " a GPU: " + states(of.second.memory);
        return out;
    }
    GuideGate gateNo(std::string question, const Measured& of, std::string then) const
    {
        GuideGate out{.question = std::move(question), .yes = false, .then = std::move(then)};
        out.needGib = of.peakGib;
        out.haveGib = capacityGib();
        out.numbers = of.simulation ? guideUse(of.peakGib, out.haveGib, " at least, of ") + " a GPU: " + states(of.memory)
                                    : "nothing of the kind is legal for this model";
        return out;
    }

    /// What one layer more takes.
    void layerGate()
    {
        const int layers = m_base.model.numHiddenLayers;
        const auto whole = measure({}, 1, false),
                   less = layers > 1 ? measure({}, 1, false, layers - 1) : std::optional(Measured{});
        GuideGate out{.question = "Does one layer fit a GPU?"};
        out.haveGib = capacityGib();
        if (whole && less) {
            const MemoryBreakdown &a = whole->memory, &b = less->memory;
            out.needGib = whole->peakGib - less->peakGib;
            out.yes = out.needGib <= out.haveGib;
            out.numbers = guideUse(out.needGib, out.haveGib) + ": " +
                          states({.parameters = a.parameters - b.parameters,
                                  .gradients = a.gradients - b.gradients,
                                  .optimizer = a.optimizer - b.optimizer,
                                  .activations = a.activations - b.activations,
                                  .buffers = a.buffers - b.buffers});
            out.then = out.yes ? "layers may stay whole: what splits them is a choice, not a need"
                               : "each layer has to be split: tensor parallelism or sharded states cannot be avoided";
        } else {
            out.numbers = "one GPU alone is no legal layout of this model";
            out.then = "the gates below tell what is";
        }
        m_guide.gates.push_back(std::move(out));
    }

    void scaleOut(Walked copy)
    {
        int dp = m_space.gpus / (copy.tp * copy.cp * copy.pp);
        GuideGate out{.question = "Then scale out: how many copies?"};
        out.haveGib = capacityGib();
        auto job = m_space.gpus % copy.copyGpus == 0 ? measure(copy, dp, true) : std::nullopt;
        if (!job) {
            if (const int over = m_space.gpus % copy.copyGpus; over != 0) {
                const int less = m_space.gpus - over;
                out.numbers = "a copy takes " + std::to_string(copy.copyGpus) + " GPUs, and there are " + countText(m_space.gpus);
                out.then = less == 0 ? "not one copy: " + std::to_string(copy.copyGpus) + " GPUs are the fewest on this path"
                                     : "no whole number of copies: nearest " + countText(less) + " and " +
                                           countText(less + copy.copyGpus) + " GPUs";
            } else {
                out.numbers = countText(m_space.gpus) + " GPUs make dp " + std::to_string(dp) + " of copies on " +
                              std::to_string(copy.copyGpus) + ", for a batch of " + countText(m_base.training.globalBatchSize);
                out.then = m_base.training.globalBatchSize % dp != 0 ? "the batch does not divide by dp " + std::to_string(dp)
                                                                     : "no such layout is legal";
            }
            m_guide.end = out.numbers + ": " + out.then;
            m_guide.gates.push_back(std::move(out));
            return;
        }
        const auto secondsOf = [](const Measured& of) { return of.simulation->metrics().stepTimeSeconds; };
        const auto named = [&](const Walked& of, int copies) {
            return "pp " + std::to_string(of.pp) + " × dp " + std::to_string(copies);
        };
        std::string stages; // more than hold it, as long as the model can tell that they pay
        while (copy.pp > 1 && dp % 2 == 0 && copy.pp * 2 <= m_base.model.numHiddenLayers) {
            Walked deeper = copy;
            deeper.pp *= 2;
            deeper.copyGpus *= 2;
            auto other = measure(deeper, dp / 2, true);
            if (!other)
                break;
            const LikelyRatio likely =
                likelyRatio(job->simulation->scenario(), other->simulation->scenario(), secondsOf(*other) / secondsOf(*job));
            const bool pays = fits(*other) && ((likely.canTell() && likely.predicted < 1) || !fits(*job));
            const std::string sure = sureText(likely);
            stages += "; twice the stages, " + named(deeper, dp / 2) + (pays ? ", pay: " : ", are not needed: ") +
                      numberText(secondsOf(*other), Unit::seconds) + " instead of " + numberText(secondsOf(*job), Unit::seconds) +
                      (sure.empty() ? "" : " (" + sure + ")") + ", " + guideMemory(other->peakGib) + " a GPU instead of " +
                      guideMemory(job->peakGib);
            if (!pays)
                break;
            copy = deeper;
            dp /= 2;
            job = std::move(other);
        }
        if (copy.recomputes) { // a copy alone may need it, many that share their states may not
            Walked kept = copy;
            kept.recomputes = false;
            if (auto other = measure(kept, dp, true); other && fits(*other) && secondsOf(*other) < secondsOf(*job)) {
                stages += "; with states shared by dp " + std::to_string(dp) +
                          " no layer has to run again: " + numberText(secondsOf(*other), Unit::seconds) + " instead of " +
                          numberText(secondsOf(*job), Unit::seconds) + ", " + guideMemory(other->peakGib) + " a GPU";
                copy = kept;
                job = std::move(other);
            }
        }
        const std::optional<GuideGate> experts = spreadExperts(copy, dp, *job);
        const Metrics& metrics = job->simulation->metrics();
        const Scenario& scenario = job->simulation->scenario();
        out.yes = fits(*job);
        out.needGib = job->peakGib;
        const int copies = m_space.gpus / copy.copyGpus;
        const int microBatches = scenario.training.globalBatchSize / (dp * scenario.training.microBatchSize);
        out.numbers = countText(m_space.gpus) + " GPUs / " + std::to_string(copy.copyGpus) +
                      " a copy = " + std::to_string(copies) + (copies == 1 ? " copy, dp " : " copies, dp ") + std::to_string(dp) +
                      ": " + countedText(microBatches, "micro-batch") + " each" +
                      (copy.pp > 1 ? ", bubble " + percentText(metrics.bubbleFraction) + " of the step" : "") + "; " +
                      guideUse(job->peakGib, out.haveGib);
        out.then = describe(copy) + " × dp " + std::to_string(dp) + ": step " +
                   numberText(metrics.stepTimeSeconds, Unit::seconds) + stages;
        m_guide.gates.push_back(std::move(out));
        if (experts)
            m_guide.gates.push_back(*experts);
        if (!fits(*job)) {
            m_guide.end = "with the job's batch it does not fit: " + guideUse(job->peakGib, capacityGib());
            return;
        }
        m_guide.layout =
            plannedLayout({.tp = copy.tp, .cp = copy.cp, .pp = copy.pp, .dp = dp, .ep = copy.ep, .etp = scenario.layout.etp},
                          settingsOf(copy, dp), *job->simulation, m_request.price);
        noteTraffic(*job->simulation);
    }

    /// Of a mixture of experts: whole ones on GPUs of their own, taken where they are faster and fit.
    std::optional<GuideGate> spreadExperts(Walked& copy, int dp, Measured& job) const
    {
        const int experts = m_base.model.numExperts, ranks = copy.tp * copy.cp * dp;
        if (experts == 0)
            return std::nullopt;
        const auto secondsOf = [](const Measured& of) { return of.simulation->metrics().stepTimeSeconds; };
        const auto waited = [](const Measured& of) {
            return numberText(1e-9 * static_cast<double>(of.simulation->metrics().use[partOf<StepPart>(Dimension::ep)]),
                              Unit::seconds);
        };
        const auto named = [](const Measured& of) {
            const Layout& layout = of.simulation->scenario().layout;
            return "ep " + std::to_string(layout.ep) + ", etp " + std::to_string(layout.etp);
        };
        GuideGate out{.question = "Are whole experts on GPUs of their own faster?"};
        out.numbers = named(job) + ": step " + numberText(secondsOf(job), Unit::seconds) + ", of which " + waited(job) +
                      " wait for experts' traffic";
        std::optional<std::pair<Walked, Measured>> best;
        const bool areSpread = job.simulation->scenario().layout.ep > 1;
        for (int ep = std::min({experts, ranks, std::max(1, m_base.cluster.gpusPerNode)}), tried = 0;
             ep > 1 && tried < 1 && !areSpread; --ep) {
            if (experts % ep != 0 || ranks % ep != 0)
                continue;
            Walked spread = copy;
            spread.ep = ep;
            spread.etp = 1;
            auto other = measure(spread, dp, true);
            if (!other)
                continue;
            ++tried;
            out.numbers += "; " + named(*other) + ": " + numberText(secondsOf(*other), Unit::seconds) + ", " + waited(*other) +
                           " of it, " + guideMemory(other->peakGib);
            if (fits(*other) && secondsOf(*other) < secondsOf(best ? best->second : job))
                best = {spread, *std::move(other)};
        }
        out.yes = best.has_value() || areSpread;
        out.then = best ? named(best->second) + " is taken: tokens travel to their experts, which stay whole"
                        : "experts stay as they are laid out: " + named(job);
        if (best) {
            copy = best->first;
            job = std::move(best->second);
        }
        return out;
    }

    void noteTraffic(const Simulation& simulation)
    {
        const Scenario& scenario = simulation.scenario();
        const Traffic traffic(simulation);
        const Mesh& mesh = simulation.mesh();
        const auto& layout = scenario.layout;
        int rank = 0; // of a middle stage
        for (int r = 0; r < traffic.worldSize(); ++r)
            if (const Coordinates at = mesh.coordinates(r); at.pp == layout.pp / 2 && at.tp == 0 && at.cp == 0 && at.dp == 0) {
                rank = r;
                break;
            }
        const TrafficSums sums = traffic.sentBy(rank);
        const SendingGpus senders = traffic.gpusOf();
        const std::array sizes{std::pair{Dimension::tp, layout.tp}, std::pair{Dimension::cp, layout.cp},
                               std::pair{Dimension::ep, scenario.model.numExperts > 0 ? layout.ep * layout.etp : 1},
                               std::pair{Dimension::pp, layout.pp}, std::pair{Dimension::dp, layout.dp}};
        for (const auto& [dimension, size] : sizes) {
            if (size <= 1)
                continue;
            GuideTraffic of{
                .dimension = dimension, .size = size, .name = std::string(dimensionName(dimension)) + " " + countText(size)};
            if (dimension == Dimension::ep)
                of.name =
                    "ep " + std::to_string(layout.ep) + (layout.etp > 1 ? ", etp " + std::to_string(layout.etp) : std::string());
            std::int64_t all = 0, outside = 0;
            for (int tier = 0; tier < sums.tiers(); ++tier) {
                const std::int64_t bytes = sums.bytes(tier, dimension);
                all += bytes;
                outside += tier > 0 ? bytes : 0;
                if (bytes > 0 && tier < static_cast<int>(scenario.cluster.tiers.size())) {
                    of.tier = scenario.cluster.tiers[asIndex(tier)].name;
                    of.tierGBs = bandwidthGBs(scenario.cluster, asIndex(tier), senders) / senders.gpus;
                }
            }
            of.gbPerGpu = static_cast<double>(all) * 1e-9;
            of.outsideShare = all > 0 ? static_cast<double>(outside) / static_cast<double>(all) : 0;
            of.exposedSeconds = static_cast<double>(simulation.metrics().use[partOf<StepPart>(dimension)]) * 1e-9;
            m_guide.traffic.push_back(std::move(of));
        }
        std::stable_sort(m_guide.traffic.begin(), m_guide.traffic.end(),
                         [](const GuideTraffic& a, const GuideTraffic& b) { return a.gbPerGpu > b.gbPerGpu; });
    }

    const PlanRequest& m_request;
    const Catalogue& m_catalogue;
    PlanSpace m_space;
    const Scenario& m_base;
    PlanGuide m_guide;
};

} // namespace

ScenarioDocument guideDocument(const PlanRequest& request, const std::vector<PlanSetting>& settings)
{
    PlanRequest bare = request;
    bare.fixed.clear();
    for (const auto& [pointer, value] : request.fixed) // of the job, not of how it is laid out
        if (const std::string key = dotted(pointer); !key.starts_with("layout") && !key.starts_with("schedule"))
            bare.document.set(key, value);
    for (const char* key : {"schedule", "layout", "training.recompute"})
        if (bare.document.get(key))
            bare.document.erase(key);
    return withSettings(bare, settings);
}

PlanGuide planGuide(const PlanRequest& request, const Catalogue& catalogue)
{
    return GuideWalk(request, catalogue).walk();
}

} // namespace sim
