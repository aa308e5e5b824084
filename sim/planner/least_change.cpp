#include "sim/planner/least_change.h"

#include "sim/analysis/findings/edits.h"
#include "sim/cancel.h"
#include "sim/frameworks/job.h"
#include "sim/frameworks/limits.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/parallel.h"
#include "sim/planner/sizes.h"
#include "sim/planner/space.h"
#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/pointer_text.h"
#include "sim/scenario/words.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

namespace sim {
namespace {

/// A set of settings: a bit for each, in the order of kChangeable.
using SettingSet = unsigned;

struct Changeable {
    const char* pointer;
    const char* name;
    bool isSplit; ///< how the model and the batch lie on the GPUs
};
constexpr const char* kOffloaded = "training.offload.optimizer";
constexpr const char* kLossChunk = "training.loss_chunk_tokens";
constexpr const char* kNarrowCopies = "training.stack.keeps_narrow_weights";
constexpr const char* kReduction = "layout.reduce_each_microbatch";
constexpr std::array<Changeable, 13> kChangeable{{{"training.recompute", "recompute", false},
                                                  {"training.micro_batch_size", "micro-batch", false},
                                                  {"layout.zero_stage", "ZeRO stage", false},
                                                  {"layout.sequence_parallel", "sequence parallelism", false},
                                                  {"layout.tp", "tp", true},
                                                  {"layout.pp", "pp", true},
                                                  {"layout.cp", "cp", true},
                                                  {"layout.dp", "dp", true},
                                                  {"layout.ep", "ep", true},
                                                  {kLossChunk, "tokens of the loss at a time", false},
                                                  {kNarrowCopies, "parameters in 16 bits beside those in 8", false},
                                                  {kReduction, "gradients reduced", false},
                                                  {kOffloaded, "offloaded optimizer", false}}};
constexpr const char* kSoftware = "training.stack";
constexpr std::size_t kFirstAlone = 9;       ///< from here on in no set: a plan holds them
constexpr std::size_t kOffload = 12;         ///< a share has too many values for many sets
constexpr SettingSet kBesideOffload = 0b111; ///< one of these may change with it
constexpr SettingSet kSplit = 0b1'1111'0000;
constexpr SettingSet kGrid = 0b0'1111'0000; ///< of these the product is the number of GPUs
constexpr SettingSet kExperts = 0b1'0000'0000;
constexpr int kMostSimulatedOfSet = 60;
constexpr double kAnyStep = 1e30; ///< seconds: whatever fits is fast enough
constexpr int kTimesAsManyGpus = 16;
constexpr int kOffloadParts = 20; ///< the share that is offloaded is a number of these

/// "recompute, micro-batch or ZeRO stage"
std::string namesOf(SettingSet set)
{
    std::string names;
    for (std::size_t i = 0; i < kChangeable.size(); ++i)
        if ((set >> i & 1) != 0)
            names += (names.empty() ? "" : (set >> i) == 1 ? " or " : ", ") + std::string(kChangeable[i].name);
    return names;
}

int layersOfChunk(const Scenario& scenario)
{
    const std::vector<int>& layers = scenario.schedule.layersPerStage;
    return layers.empty() ? 0 : *std::max_element(layers.begin(), layers.end());
}

/// "full, 2 layers of each chunk"; where that is all of them "full", unless the number is wanted.
std::string recomputeText(const Scenario& scenario, bool saysAll)
{
    const Training& training = scenario.training;
    const std::string word{toWord(kRecomputeWords, training.recompute)};
    if (training.recompute == Recompute::selective &&
        training.recomputeModules != RecomputeModules{RecomputeModule::coreAttention})
        return word + " (" + spokenModules(training.recomputeModules) + ")";
    if (training.recompute != Recompute::full || training.recomputeLayers == 0 ||
        (!saysAll && training.recomputeLayers >= layersOfChunk(scenario)))
        return word;
    return word + ", " + countedText(training.recomputeLayers, "layer") + " of each chunk";
}

/// Whether what one layout says of recomputation says the same of another.
bool recomputesAs(const Scenario& before, const Scenario& after)
{
    const auto numberIn = [&](const Training& training) { // more than there are run no other layers again
        const bool isAll = training.recomputeLayers == 0 ||
                           (training.recomputeLayers >= layersOfChunk(after) && after.model.numNextnPredictLayers == 0);
        return training.recompute != Recompute::full || isAll ? 0 : training.recomputeLayers;
    };
    const bool isSelective = after.training.recompute == Recompute::selective;
    return before.training.recompute == after.training.recompute &&
           (!isSelective || before.training.recomputeModules == after.training.recomputeModules) &&
           numberIn(before.training) == numberIn(after.training);
}

/// The value of a setting, as a person says it.
std::string saidOf(const Scenario& scenario, std::size_t setting)
{
    constexpr int kAllDigits = 12; // a share is said so that no other reads alike
    const Layout& layout = scenario.layout;
    const std::array<int, 5> sizes{layout.tp, layout.pp, layout.cp, layout.dp, layout.ep};
    switch (setting) {
    case 0:
        return recomputeText(scenario, false);
    case 1:
        return std::to_string(scenario.training.microBatchSize);
    case 2:
        return std::to_string(layout.zeroStage);
    case 3:
        return layout.sequenceParallel ? "on" : "off";
    case kFirstAlone:
        return scenario.training.lossChunkTokens == 0 ? "all" : numberText(scenario.training.lossChunkTokens, Unit::count);
    case kFirstAlone + 1:
        return scenario.training.stack.keepsNarrowWeights ? "kept" : "not kept";
    case kFirstAlone + 2:
        return scenario.layout.reduceEachMicrobatch ? "with each micro-batch" : "once a step";
    case kOffload:
        return numberText(scenario.training.offload.optimizer, Unit::fraction, kAllDigits);
    default:
        return std::to_string(sizes[setting - 4]);
    }
}

/// Whether gradients that are sharded wait whole until a step's last micro-batch, which takes memory.
bool addsUpWholeShards(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    return !layout.reduceEachMicrobatch && layout.zeroStage >= 2 && layout.pp == 1 && scenario.microbatches() > 1;
}

class LeastChangeSearch {
public:
    LeastChangeSearch(const PlanRequest& request, const Catalogue& catalogue)
        : m_request(request), m_catalogue(catalogue), m_document(documentOf(request, catalogue)),
          m_scenario(resolvedScenario(m_document, catalogue)), m_job(jobOf())
    {
        requireWholeKeys(request.fixed);
        for (std::size_t i = 0; i < kChangeable.size(); ++i) {
            const bool isHeld = std::any_of(request.fixed.begin(), request.fixed.end(), [&](const PlanSetting& fixed) {
                return dotted(fixed.first) == kChangeable[i].pointer ||
                       (i == kOffload && dotted(fixed.first) == "training.offload") ||
                       (i == kFirstAlone + 1 && dotted(fixed.first) == kSoftware);
            });
            const bool isOfThisJob = (SettingSet{1} << i) == kExperts ? m_scenario.model.numExperts > 0
                                     : i == kFirstAlone               ? Edits(m_scenario).lossInChunks().has_value()
                                     : i == kFirstAlone + 1           ? Edits(m_scenario).narrowParameters().has_value()
                                     : i == kFirstAlone + 2           ? addsUpWholeShards(m_scenario)
                                                                      : true;
            if (isHeld || !isOfThisJob)
                continue;
            if (i == kOffload) {
                m_mayOffload = true;
                m_out.besideOffload = namesOf(m_all & kBesideOffload);
            } else if (i == kFirstAlone) {
                // What findings offer, and as long as the chunks of software that has one length of them.
                m_alone.emplace_back(kLossChunk, *Edits(m_scenario).lossInChunks()->changes.front().json);
                m_alone.emplace_back(kLossChunk, std::to_string(frameworks::kFusedLossChunk));
            } else if (i == kFirstAlone + 1) {
                m_alone.emplace_back(kNarrowCopies, "false");
            } else if (i == kFirstAlone + 2) {
                m_alone.emplace_back(kReduction, "true");
            } else {
                m_all |= SettingSet{1} << i;
            }
            m_out.searched += (m_out.searched.empty() ? "" : ", ") + std::string(kChangeable[i].name);
            if (i >= kFirstAlone)
                m_out.searched += " by itself";
            if (i == kOffload && !m_out.besideOffload.empty())
                m_out.searched += " or beside " + m_out.besideOffload;
        }
    }

    LeastChange run()
    {
        const int gpus = static_cast<int>(m_scenario.layout.worldSize());
        m_out.gpus = m_out.gpusBefore = gpus;
        m_out.capacityGib = std::min(m_scenario.cluster.gpu.memoryGib - m_request.marginGib, capacityGib(m_scenario));
        requirePlannable(requestOf(m_all, gpus, 0), m_catalogue);
        const auto now = simulate(m_scenario);
        m_out.peakBeforeGib = m_out.peakGib = now->metrics().peakMemoryGib;
        m_out.stepBeforeSeconds = m_out.stepSeconds = now->metrics().stepTimeSeconds;
        m_out.proved = true;
        m_out.hostCapacityGib = m_scenario.cluster.host.memoryGib;
        m_out.hostBeforeGib = m_out.hostGib = now->metrics().hostMemoryGib;
        m_out.overfillsHost = !now->metrics().hostFits;
        m_out.fitsAlready = m_out.peakBeforeGib <= m_out.capacityGib && !m_out.overfillsHost;
        if (m_out.fitsAlready)
            return std::move(m_out);
        if (searchSize(gpus))
            return std::move(m_out);
        const int most = m_request.gpus > 0
                             ? m_request.gpus
                             : static_cast<int>(std::min<std::int64_t>(std::int64_t{kTimesAsManyGpus} * gpus, 1 << 20));
        for (const int more : usualSizes(std::max(1, m_scenario.cluster.gpusPerNode), most))
            if (more > gpus && searchSize(more))
                break;
        return std::move(m_out);
    }

private:
    /// With what is held, and with its batch, which no change of its layout changes.
    static ScenarioDocument documentOf(const PlanRequest& request, const Catalogue& catalogue)
    {
        ScenarioDocument document = withSettings(request, {});
        if (const auto batch = batchOfOwnLayout(document, document, catalogue))
            document.set(batch->first, batch->second);
        if (!request.framework.empty()) {
            const int zeroStage = resolvedScenario(document, catalogue).layout.zeroStage;
            if (const auto software = softwareOf(request.framework, document, zeroStage))
                document.set(kSoftware, *software);
        }
        return document;
    }

    /// Whether the framework's runs it, since nothing that is given names one.
    bool softwareFollows() const { return softwareOf(m_request.framework, withSettings(m_request, {}), 0).has_value(); }

    /// The document without what follows from sizes anyhow, so that it follows when they change.
    ScenarioDocument jobOf()
    {
        ScenarioDocument job = m_document;
        const Layout& layout = m_scenario.layout;
        const auto isFixed = [&](const char* pointer) {
            return std::any_of(m_request.fixed.begin(), m_request.fixed.end(),
                               [&](const PlanSetting& fixed) { return dotted(fixed.first) == pointer; });
        };
        const auto erase = [&](const char* pointer, bool follows) {
            if (follows && !isFixed(pointer) && job.get(pointer)) {
                job.erase(pointer);
                m_followers.emplace_back(pointer);
            }
        };
        m_etpFollows = layout.etp == layout.tp && !isFixed("layout.etp");
        m_shardFollows = layout.dpShard == layout.dp * layout.cp && !isFixed("layout.dp_shard");
        if (softwareFollows())
            job.erase(kSoftware); // it may be another with another stage of ZeRO
        erase("layout.etp", m_etpFollows);
        erase("layout.dp_shard", m_shardFollows);
        erase("schedule.microbatch_group", m_scenario.schedule.microbatchGroup == layout.pp);
        erase("schedule.layers_per_stage",
              m_scenario.schedule.layersPerStage ==
                  balancedLayers(m_scenario.model.numHiddenLayers, std::max(1, m_scenario.stages())));
        return job;
    }

    PlanRequest requestOf(SettingSet changed, int gpus, double enoughSeconds) const
    {
        const Layout& layout = m_scenario.layout;
        PlanRequest request{.document = m_job, .framework = m_request.framework};
        request.marginGib = m_request.marginGib;
        request.jobs = m_request.jobs;
        request.top = 1;
        request.enoughSeconds = enoughSeconds;
        request.mostSimulated = kMostSimulatedOfSet;
        request.gpus = gpus == static_cast<int>(layout.worldSize()) ? 0 : gpus;
        const auto hold = [&](const char* pointer, std::string json) { request.fixed.emplace_back(pointer, std::move(json)); };
        for (std::size_t i = 0; i < kChangeable.size(); ++i) {
            if ((changed >> i & 1) != 0 || i >= kFirstAlone)
                continue;
            const char* const pointer = kChangeable[i].pointer;
            hold(pointer, i == 0   ? m_document.get(pointer).value_or("\"none\"")
                          : i == 3 ? (layout.sequenceParallel ? "true" : "false")
                                   : saidOf(m_scenario, i));
        }
        if (m_etpFollows)
            request.following.emplace_back("layout.etp");
        else
            hold("layout.etp", std::to_string(layout.etp));
        if (m_shardFollows)
            request.following.emplace_back("layout.dp_shard");
        else
            hold("layout.dp_shard", std::to_string(layout.dpShard));
        hold("schedule.kind", "\"" + m_scenario.schedule.kind + "\"");
        hold("schedule.virtual_stages", std::to_string(m_scenario.schedule.virtualStages));
        return request;
    }

    PlanAnswer planOf(SettingSet changed, int gpus, double enoughSeconds)
    {
        checkCancelled();
        ++m_out.setsTried;
        PlanAnswer answer = plan(requestOf(changed, gpus, enoughSeconds), m_catalogue);
        if (answer.stopped)
            throw Cancelled();
        if (answer.best.empty()) {
            m_out.proved = m_out.proved && answer.proved;
            m_tooFew.push_back(changed);
        }
        return answer;
    }

    bool isKnownToBeTooFew(SettingSet changed) const
    {
        return std::any_of(m_tooFew.begin(), m_tooFew.end(), [&](SettingSet all) { return (changed & ~all) == 0; });
    }

    /// Sets of so many settings that can be changed on so many GPUs, by how they are wanted.
    std::vector<SettingSet> setsOf(int count, int gpus) const
    {
        std::vector<SettingSet> sets;
        const bool keepsGpus = gpus == m_out.gpusBefore;
        for (SettingSet set = 1; set < SettingSet{1} << kFirstAlone; ++set) {
            const int sizes = std::popcount(set & kGrid);
            if ((set & ~m_all) == 0 && std::popcount(set) == count && (keepsGpus ? sizes != 1 : sizes > 0))
                sets.push_back(set);
        }
        std::stable_sort(sets.begin(), sets.end(), [](SettingSet a, SettingSet b) { return (a & kSplit) < (b & kSplit); });
        return sets;
    }

    /// A change to what no set of settings has.
    struct Beside {
        ScenarioDocument document;
        double stepSeconds = 0;
    };
    static bool isFaster(const std::optional<Beside>& a, const std::optional<Beside>& b)
    {
        return a && (!b || a->stepSeconds < b->stepSeconds);
    }

    /// Modules of selective recomputation, one or two at a time: a plan has one set of them.
    static std::vector<std::string> moduleSets()
    {
        std::vector<std::string> sets;
        const auto& words = kRecomputeModuleWords;
        for (std::size_t i = 0; i < words.size(); ++i)
            for (std::size_t j = i; j < words.size(); ++j) {
                const std::string second = i == j ? "" : ",\"" + std::string(words[j].first) + "\"";
                sets.push_back(R"({"kind":"selective","modules":[")" + std::string(words[i].first) + "\"" + second + "]}");
            }
        return sets;
    }

    ScenarioDocument jobWith(const char* pointer, const std::string& json) const
    {
        ScenarioDocument document = m_job;
        if (softwareFollows())
            document.set(kSoftware, *m_document.get(kSoftware));
        document.set(pointer, json);
        return document;
    }

    /// The step of the job with one setting changed, where that is legal and fits.
    std::optional<Beside> withAlone(const char* pointer, const std::string& json) const
    {
        checkCancelled();
        const ScenarioDocument document = jobWith(pointer, json);
        const auto resolved = document.resolve(m_catalogue);
        if (!resolved.scenario || !frameworkProblem(m_request, *resolved.scenario, m_catalogue).empty())
            return std::nullopt;
        const auto step = simulate(*resolved.scenario);
        if (step->metrics().peakMemoryGib > m_out.capacityGib || !step->metrics().hostFits)
            return std::nullopt;
        return Beside{document, step->metrics().stepTimeSeconds};
    }

    /// Of all that is changed by itself; of the share of the optimizer that is offloaded the least that is enough.
    std::optional<Beside> fastestAlone()
    {
        std::vector<std::optional<Beside>> found;
        const bool holdsModules = std::any_of(m_request.fixed.begin(), m_request.fixed.end(), [](const PlanSetting& fixed) {
            return dotted(fixed.first).starts_with("training.recompute");
        });
        if (!holdsModules) {
            const std::vector<std::string> sets = moduleSets();
            found.resize(sets.size());
            forEachInParallel(sets.size(), static_cast<std::size_t>(std::max(0, m_request.jobs)),
                              [&](std::size_t i) { found[i] = withAlone("training.recompute", sets[i]); });
            m_out.triesModules = true;
        }
        for (const PlanSetting& one : m_alone)
            found.push_back(withAlone(one.first.c_str(), one.second));
        if (m_mayOffload) {
            const auto isTaken = [&](double share) {
                const auto resolved = jobWith(kOffloaded, Json(share).dump()).resolve(m_catalogue);
                return resolved.scenario && !breaksLimit(m_request.framework, *resolved.scenario);
            };
            // A framework may keep all of the optimizer on the host, or nothing.
            m_out.offloadsParts = isTaken(0.5) || !isTaken(1);
            const int all = offloadParts();
            const auto fitsGpus = [&](int parts) {
                const auto resolved = jobWith(kOffloaded, shareOf(parts)).resolve(m_catalogue);
                return resolved.scenario && simulate(*resolved.scenario)->metrics().peakMemoryGib <= m_out.capacityGib;
            };
            // What the host holds grows, what the GPUs hold shrinks: the least that the GPUs take is the host's best too, and
            // less than now where the host alone is too full.
            int tooLittle = -1, enough = all;
            if (fitsGpus(enough)) {
                while (enough > tooLittle + 1) {
                    const int middle = (tooLittle + enough) / 2;
                    (fitsGpus(middle) ? enough : tooLittle) = middle;
                }
                found.push_back(withAlone(kOffloaded, shareOf(enough)));
            }
            m_out.triesOffload = true;
        }
        std::optional<Beside> best;
        for (std::optional<Beside>& each : found)
            if (isFaster(each, best))
                best = std::move(each);
        return best;
    }

    int offloadParts() const { return m_out.offloadsParts ? kOffloadParts : 1; }
    std::string shareOf(int parts) const { return Json(1.0 * parts / offloadParts()).dump(); }

    /// Of each share of the optimizer on the host and one of kBesideOffload with it: a plan for each two of them. `proved`
    /// becomes false where the best of one is not.
    std::optional<Beside> fastestBesideOffload(bool& proved)
    {
        std::optional<Beside> best;
        for (const SettingSet beside : {0b001U, 0b010U, 0b100U}) {
            if (!m_mayOffload || (beside & kBesideOffload & m_all) == 0)
                continue;
            ++m_out.setsTried;
            m_out.triesBesideOffload = true;
            // From all of it on: the GPUs hold more with each part that is taken back.
            for (int parts = offloadParts(); parts >= 0; --parts) {
                checkCancelled();
                PlanRequest request = requestOf(beside, m_out.gpusBefore, 0);
                request.document.set(kOffloaded, shareOf(parts));
                if (1.0 * parts / offloadParts() == m_scenario.training.offload.optimizer)
                    continue; // the other setting alone
                const PlanAnswer answer = plan(request, m_catalogue);
                if (answer.stopped)
                    throw Cancelled();
                bool& ofWhat = answer.best.empty() ? m_out.proved : proved;
                ofWhat = ofWhat && answer.proved;
                const auto isTooMuchForHost = [](const RejectedGrid& grid) { return grid.needHostGib > 0; };
                if (answer.best.empty() && std::none_of(answer.rejected.begin(), answer.rejected.end(), isTooMuchForHost))
                    break;
                if (answer.best.empty())
                    continue;
                std::optional<Beside> found(
                    {withSettings(request, answer.best.front().settings), answer.best.front().stepSeconds});
                if (isFaster(found, best))
                    best = std::move(found);
            }
        }
        return best;
    }

    bool searchSize(int gpus)
    {
        m_tooFew.clear();
        const bool keepsGpus = gpus == m_out.gpusBefore;
        const std::optional<Beside> alone = keepsGpus ? fastestAlone() : std::nullopt;
        const bool hasSets = m_all != 0 && (keepsGpus || (m_all & kGrid) != 0) && !planOf(m_all, gpus, kAnyStep).best.empty();
        if (hasSets && keepsGpus && (m_all & ~kSplit) != 0)
            planOf(m_all & ~kSplit, gpus, kAnyStep); // where that does not fit, nothing of it does
        constexpr int kWithOffload = 2;
        for (int count = 1; count <= std::max(std::popcount(m_all), kWithOffload); ++count) {
            std::optional<PlannedLayout> best;
            bool isOfSplit = false, proved = true;
            for (const SettingSet set : hasSets ? setsOf(count, gpus) : std::vector<SettingSet>()) {
                const bool ofSplit = (set & kSplit) != 0;
                if (isKnownToBeTooFew(set) || (best && ofSplit != isOfSplit))
                    continue;
                const PlanAnswer answer = planOf(set, gpus, 0);
                proved = proved && answer.proved;
                if (answer.best.empty() || (best && best->stepSeconds <= answer.best.front().stepSeconds))
                    continue;
                best = answer.best.front();
                isOfSplit = ofSplit;
            }
            const std::optional<Beside> beside = count == 1                           ? alone
                                                 : count == kWithOffload && keepsGpus ? fastestBesideOffload(proved)
                                                                                      : std::nullopt;
            if (!best && !beside)
                continue;
            m_out.proved = m_out.proved && proved;
            const bool takesBeside = beside && (!best || isOfSplit || beside->stepSeconds < best->stepSeconds);
            take(takesBeside ? beside->document : withSettings(requestOf(m_all, gpus, 0), best->settings), gpus);
            return true;
        }
        return false;
    }

    void take(const ScenarioDocument& planned, int gpus)
    {
        m_out.gpus = gpus;
        const Scenario scenario = resolvedScenario(planned, m_catalogue);
        const auto jsonOf = [&](const std::string& pointer) { return planned.get(pointer).value_or("1"); };
        std::string words;
        bool ofSplit = false;
        for (std::size_t i = 0; i < kChangeable.size(); ++i) {
            const bool isAlone = i >= kFirstAlone && i != kOffload;
            if (isAlone && planned.get(kChangeable[i].pointer) == m_document.get(kChangeable[i].pointer))
                continue; // other software may have others
            std::string before = saidOf(m_scenario, i), after = saidOf(scenario, i);
            if (i == 0 ? recomputesAs(m_scenario, scenario) : before == after)
                continue;
            if (before == after) { // all layers of a chunk, of which there are more or fewer now
                before = recomputeText(m_scenario, true);
                after = recomputeText(scenario, true);
            }
            ofSplit = ofSplit || kChangeable[i].isSplit;
            m_out.settings.push_back({kChangeable[i].pointer, before, after, jsonOf(kChangeable[i].pointer)});
            m_out.edit.changes.push_back({slashed(kChangeable[i].pointer), m_out.settings.back().json});
            words += (words.empty() ? "" : ", ") + std::string(kChangeable[i].name) + " " + before + " → " + after;
        }
        m_out.keepsSplit = !ofSplit;
        if (ofSplit) // what a file said that follows from it
            for (const std::string& follower : m_followers)
                m_out.edit.changes.push_back({slashed(follower), std::nullopt});
        if (const auto layers = planned.get("schedule.layers_per_stage");
            layers && layers != m_document.get("schedule.layers_per_stage"))
            m_out.edit.changes.push_back({"/schedule/layers_per_stage", *layers});
        const int perNode = std::max(1, m_scenario.cluster.gpusPerNode), nodes = (gpus + perNode - 1) / perNode;
        if (nodes > m_scenario.cluster.nodes) {
            m_out.edit.changes.push_back({"/cluster/nodes", std::to_string(nodes)});
            words += ", nodes " + std::to_string(m_scenario.cluster.nodes) + " → " + std::to_string(nodes);
        }
        if (const auto batch = m_document.get("training.global_batch_size");
            !m_request.document.get("training.global_batch_size")) {
            const auto changed = withChange(withSettings(m_request, {}), m_out).resolve(m_catalogue);
            if (!changed.scenario || changed.scenario->training.globalBatchSize != m_scenario.training.globalBatchSize)
                m_out.edit.changes.push_back({"/training/global_batch_size", *batch}); // the new layout would have another
        }
        if (softwareFollows())
            m_out.edit.changes.push_back({slashed(kSoftware), *planned.get(kSoftware)});
        m_out.edit.text = words;
        const auto step = simulate(resolvedScenario(withChange(m_document, m_out), m_catalogue));
        m_out.peakGib = step->metrics().peakMemoryGib;
        m_out.hostGib = step->metrics().hostMemoryGib;
        m_out.stepSeconds = step->metrics().stepTimeSeconds;
        assert(m_out.peakGib <= m_out.capacityGib && step->metrics().hostFits);
    }

    const PlanRequest& m_request;
    const Catalogue& m_catalogue;
    const ScenarioDocument m_document; ///< with what is held
    const Scenario m_scenario;
    std::vector<std::string> m_followers; ///< that the document says and the job does not
    bool m_etpFollows = false, m_shardFollows = false;
    const ScenarioDocument m_job;
    SettingSet m_all = 0;
    std::vector<PlanSetting> m_alone; ///< changes to try by themselves
    bool m_mayOffload = false;
    std::vector<SettingSet> m_tooFew; ///< on the GPUs that are looked at: neither these nor any part of them fit
    LeastChange m_out;
};

} // namespace

LeastChange leastChange(const PlanRequest& request, const Catalogue& catalogue)
{
    return LeastChangeSearch(request, catalogue).run();
}

ScenarioDocument withChange(const ScenarioDocument& document, const LeastChange& change)
{
    ScenarioDocument out = document;
    for (const Change& each : change.edit.changes) {
        if (each.json)
            out.set(each.pointer, *each.json);
        else if (out.get(each.pointer))
            out.erase(each.pointer);
    }
    return out;
}

} // namespace sim
