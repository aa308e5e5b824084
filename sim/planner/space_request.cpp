// From a request to what is free and what is held, or why it cannot be searched.
#include "sim/frameworks/limits.h"
#include "sim/planner/free_keys.h"
#include "sim/scenario/pointer_text.h"
#include "sim/scenario/schema.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sim {
namespace {

constexpr int kMostPlannedGpus = 1 << 20;

std::string unquoted(std::string text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    return text;
}

std::string digitsOf(double value)
{
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

double numberOf(const std::string& text)
{
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int wholeNumberOf(std::string_view pointer, const std::string& text)
{
    int value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size())
        throw Error(std::string(pointer) + " is " + shownText(text) + "; it must be a whole number");
    return value;
}

std::string nearestFreeKey(const std::string& asked)
{
    std::vector<std::string> known;
    std::string all;
    for (const FreeKeyFacts& key : kFreeKeys) {
        known.emplace_back(key.pointer);
        all += (all.empty() ? "" : ", ") + known.back();
    }
    return nearestWords(asked, known) + "; searched can be " + all;
}

/// What the schema says of a key that is held, and of all above and below it.
void requireShape(const ScenarioDocument& document, const std::vector<PlanSetting>& fixed, const Schema& schema)
{
    const std::vector<Problem> problems = schema.check(Json::parse(document.text()), {});
    for (const auto& [pointer, value] : fixed) {
        const std::string held = slashed(pointer);
        for (const Problem& problem : problems)
            if (problem.severity == Severity::error &&
                ((held + "/").starts_with(problem.pointer + "/") || problem.pointer.starts_with(held + "/")))
                throw Error(shownText(pointer) + " = " + shownText(value) + " cannot be held: " + problem.text());
    }
}

/// The ranks of a document's own layout.
std::int64_t writtenRanks(const ScenarioDocument& document)
{
    std::int64_t ranks = 1;
    for (const char* pointer : {"layout.tp", "layout.cp", "layout.pp", "layout.dp"})
        if (const auto text = document.get(pointer)) {
            const std::int64_t size = wholeNumberOf(pointer, *text);
            ranks = size > 0 && ranks <= kMostPlannedGpus ? ranks * size : ranks;
        }
    return ranks;
}

} // namespace

std::vector<std::string_view> plannedKeys()
{
    std::vector<std::string_view> keys;
    keys.reserve(std::size(kFreeKeys));
    for (const FreeKeyFacts& key : kFreeKeys)
        keys.push_back(key.pointer);
    return keys;
}

void requireWholeKeys(const std::vector<PlanSetting>& fixed)
{
    const bool saysModules = std::any_of(
        fixed.begin(), fixed.end(), [](const PlanSetting& each) { return dotted(each.first) == "training.recompute.modules"; });
    for (const auto& [pointer, value] : fixed) {
        const std::string held = dotted(pointer);
        // Modules are not searched: they say what selective recomputation is.
        if (held == "training.recompute.modules" ||
            (saysModules && held == "training.recompute.kind" && unquoted(value) == "selective"))
            continue;
        for (const FreeKeyFacts& key : kFreeKeys) {
            const std::string searched{key.pointer};
            if (searched.starts_with(held + "."))
                throw Error(shownText(pointer) + " cannot be held as a block, of which the keys are searched one by one: hold " +
                            "each by itself, as " + searched);
            if (held.starts_with(searched + "."))
                throw Error(shownText(pointer) + " cannot be held alone: " + searched + " is searched as a whole; hold that");
        }
    }
}

PlanSpace::PlanSpace(const PlanRequest& request, const Catalogue& catalogue) : m_request(request), m_document(request.document)
{
    requireWholeKeys(request.fixed);
    for (const auto& [pointer, value] : request.fixed) {
        m_document.set(dotted(pointer), value);
        m_layersFixed = m_layersFixed || dotted(pointer) == "schedule.layers_per_stage";
        for (const FreeKeyFacts& key : kFreeKeys)
            if (key.pointer == dotted(pointer))
                free.*key.isFree = false;
    }
    for (std::size_t i = 0; i < request.fixed.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (dotted(request.fixed[i].first) == dotted(request.fixed[j].first))
                throw Error(shownText(request.fixed[i].first) + " is to be held at " + shownText(request.fixed[j].second) +
                            " and at " + shownText(request.fixed[i].second) + "; say one of them");
    for (const std::string& pointer : request.following) {
        for (const FreeKeyFacts& key : kFreeKeys)
            if (key.pointer == dotted(pointer))
                free.*key.isFree = false;
        if (m_document.get(pointer))
            m_document.erase(pointer);
    }
    requireShape(m_document, request.fixed, catalogue.schema());
    for (const std::string& pointer : request.freed) {
        for (const auto& [held_, value] : request.fixed)
            if (dotted(held_) == dotted(pointer))
                throw Error(shownText(pointer) + " is to be held at " + shownText(value) + " and to be free; say one of them");
        const auto found = std::find_if(kFreeKeys.begin(), kFreeKeys.end(),
                                        [&](const FreeKeyFacts& key) { return key.pointer == dotted(pointer); });
        if (found == kFreeKeys.end())
            throw Error(quotedText(pointer) + " is not something that is searched over" + nearestFreeKey(dotted(pointer)));
        free.*found->isFree = true;
    }
    if (const auto perturbed = m_document.get("perturbations"); perturbed && perturbed->find("\"jitter\"") != std::string::npos)
        throw Error("kernels that vary (perturbations: jitter) have no floor that a plan could be proved by; plan without them");
    if (free.batch && request.objective == PlanObjective::headroom)
        throw Error("the smaller the batch, the less memory: hold training.global_batch_size, or plan for time");
    if (free.batch && !request.rampBatches.empty())
        throw Error("a ramp leads to one batch: hold training.global_batch_size, or plan without the ramp");
    if (free.batch && !m_document.get("training.global_batch_size"))
        throw Error("say how large the batch may be (training.global_batch_size)");
    if (!request.framework.empty()) {
        requireFramework(request.framework);
        if (free.placement)
            throw Error("a framework's launcher places its ranks: hold layout.placement, or plan for no framework");
    }

    // What is held says how those GPUs are used, not how many they are.
    const std::int64_t asked = request.gpus > 0 ? request.gpus : writtenRanks(request.document);
    if (asked < 1 || asked > kMostPlannedGpus)
        throw Error("a plan is for 1 to " + std::to_string(kMostPlannedGpus) + " GPUs, asked for " + std::to_string(asked));
    gpus = static_cast<int>(asked);

    m_unsaidBatch = batchOfOwnLayout(m_document, request.document, catalogue);
    ScenarioDocument neutral = withSettings(request, {});
    if (m_unsaidBatch) {
        m_document.set(m_unsaidBatch->first, m_unsaidBatch->second);
        neutral.set(m_unsaidBatch->first, m_unsaidBatch->second);
    }
    for (const char* pointer : {"layout", "schedule", "perturbations"})
        neutral.erase(pointer);
    for (const char* pointer : {"layout.tp", "layout.dp"})
        neutral.set(pointer, "1");
    for (const char* pointer : {"layout.placement", "layout.reshard_after_forward", "layout.reduce_each_microbatch"})
        if (const auto value = m_document.get(pointer)) {
            if (value->starts_with('['))
                throw Error("ranks placed by a list (layout.placement) leave no other layout to search; erase the list");
            neutral.set(pointer, *value);
        }
    neutral.set("training.micro_batch_size", "1");
    neutral.erase("training.recompute");
    if (const auto software = softwareOf(request.framework, m_document, 0)) {
        m_stackFollows = true;
        neutral.set("training.stack", *software);
    }
    const std::string selective = m_document.get("training.recompute").value_or("\"none\"");
    const bool hasModules = selective.find("\"modules\"") != std::string::npos;
    selectiveJson = hasModules ? selective : "\"selective\"";
    if (hasModules)
        neutral.set("training.recompute", selective);
    ScenarioDocument::Resolved resolved = neutral.resolve(catalogue);
    if (!resolved.scenario) { // warnings are of one GPU alone, and not of the file
        std::erase_if(resolved.problems, [](const Problem& problem) { return problem.severity != Severity::error; });
        throw ScenarioError(std::move(resolved.problems));
    }
    base = *std::move(resolved.scenario);
    if (const auto ofZero3 = softwareOf(request.framework, m_document, 3); ofZero3 && ofZero3 != neutral.get("training.stack")) {
        ScenarioDocument with = neutral;
        with.set("training.stack", *ofZero3);
        const Scenario ofStack = resolvedScenario(with, catalogue);
        m_softwareOfZero3.emplace(ofStack.training.stack, ofStack.uncertainty); // formats and kernels that follow are the same
    }
    // Sizes of the layout are the search's, but for one that no layout of this model has.
    if (const auto ep = m_document.get("layout.ep"); ep && !free.ep && base.model.numExperts == 0) {
        neutral.set("layout.ep", *ep);
        if (ScenarioDocument::Resolved with = neutral.resolve(catalogue); !with.scenario) {
            std::erase_if(with.problems, [](const Problem& problem) { return problem.severity != Severity::error; });
            throw ScenarioError(std::move(with.problems));
        }
    }
    if (!(request.marginGib >= 0) || request.marginGib >= base.cluster.gpu.memoryGib)
        throw Error("a margin of " + digitsOf(request.marginGib) + " GiB leaves nothing of the " +
                    digitsOf(base.cluster.gpu.memoryGib) + " GiB of a GPU");
    const int nodes = (gpus + base.cluster.gpusPerNode - 1) / base.cluster.gpusPerNode;
    if (m_document.get("cluster.nodes") && request.gpus > 0)
        m_nodes = nodes;
    for (const auto& [pointer, value] : request.fixed)
        if (dotted(pointer) == "cluster.nodes" && m_nodes > 0 && heldInt("cluster.nodes", nodes) != nodes)
            throw Error(shownText(pointer) + " is to be held at " + shownText(value) + ", and " + countedText(gpus, "GPU") +
                        (gpus == 1 ? " is " : " are ") + countedText(nodes, "node") + " of " +
                        std::to_string(base.cluster.gpusPerNode) + "; say one of them");
    if (m_nodes > 0 || !m_document.get("cluster.nodes"))
        base.cluster.nodes = nodes; // as many as the layout needs
    base.training.recompute = Recompute::none;
    if (base.training.documents.areGiven())
        throw Error("sequences packed from documents take times of their own (training.documents); plan without them");
    if (const auto imbalance = m_document.get("training.moe.imbalance"); imbalance && imbalance->starts_with('['))
        base.training.moe.imbalance = 1; // it follows from ep; no layout has less
    readHeld();
    if (const int experts = base.model.numExperts, ep = held.grid.ep; !free.ep && experts > 0 && (ep < 1 || experts % ep != 0))
        throw Error("layout.ep is to be held at " + std::to_string(ep) + ", which does not divide the model's " +
                    countedText(experts, "expert") +
                    nearestNumbers(ep, 1, experts, [experts](std::int64_t each) { return experts % each == 0; }));
}

int PlanSpace::heldInt(std::string_view pointer, int otherwise) const
{
    const auto text = m_document.get(pointer);
    if (!text)
        return otherwise;
    return wholeNumberOf(pointer, *text);
}

void PlanSpace::readHeld()
{
    const auto wordIn = [&](const char* pointer, const std::string& otherwise) {
        const auto text = m_document.get(pointer);
        return text ? unquoted(*text) : otherwise;
    };
    held.grid = {.tp = heldInt("layout.tp", 1),
                 .cp = heldInt("layout.cp", 1),
                 .pp = heldInt("layout.pp", 1),
                 .dp = heldInt("layout.dp", 1),
                 .ep = heldInt("layout.ep", 1),
                 .etp = heldInt("layout.etp", 0)};
    m_etpGiven = held.grid.etp > 0;
    held.microBatch = heldInt("training.micro_batch_size", 1);
    held.sequenceParallel = wordIn("layout.sequence_parallel", "false") == "true";
    held.zeroStage = heldInt("layout.zero_stage", 0);
    held.dpShard = heldInt("layout.dp_shard", 0);
    m_shardGiven = held.dpShard > 0;
    held.chunks = heldInt("schedule.virtual_stages", 0);
    m_group = heldInt("schedule.microbatch_group", 0);
    m_slices = heldInt("schedule.sequence_slices", 0);
    m_reshardGiven = m_document.get("layout.reshard_after_forward").has_value();
    m_reductionGiven = m_document.get("layout.reduce_each_microbatch").has_value();
    m_gatherGiven = m_document.get("training.overlap.param_gather").has_value();

    std::string order = wordIn("layout.order", "tp-cp-ep-dp-pp");
    const bool isHeld = std::any_of(m_request.fixed.begin(), m_request.fixed.end(),
                                    [](const PlanSetting& fixed) { return dotted(fixed.first) == "layout.order"; });
    if (const std::string_view only = onlyOrderOf(m_request.framework); !only.empty() && !isHeld) {
        order = only;
        m_orderFollows = true;
        free.order = false;
    }
    std::vector<std::string> axes{order};
    const bool hasExperts = base.model.numExperts > 0;
    if (free.order)
        for (std::string& other : allAxisOrders(hasExperts))
            if (other != (hasExperts ? order : withoutExpertAxis(order)))
                axes.push_back(std::move(other));
    const PlacementRule own = base.layout.placement;
    std::vector<PlacementRule> placements{own};
    if (free.placement)
        placements.push_back(own == PlacementRule::packed ? PlacementRule::roundRobin : PlacementRule::packed);
    for (const PlacementRule placement : placements)
        for (const std::string& of : axes)
            orders.push_back({of, placement});

    const std::string kind = wordIn("schedule.kind", held.chunks > 1 ? "interleaved-1f1b" : "1f1b");
    if (free.kind) {
        for (const ScheduleFamily& family : scheduleFamilies())
            if (!family.isSearched && !family.isWrittenOut && !family.cutsSequences())
                kinds.emplace_back(family.kind);
    } else {
        if (scheduleFamily(kind).isWrittenOut)
            throw Error("an order that is written out (schedule.kind " + kind +
                        ") belongs to one layout; free schedule.kind, or set one that makes its own order, such as 1f1b");
        kinds.push_back(kind);
    }
    for (const std::string& of : kinds)
        m_families.push_back(&scheduleFamily(of));
    if (!free.kind && scheduleFamily(kind).isSearched)
        base.schedule.memoryCapGib = numberOf(m_document.get("schedule.memory_cap_gib").value_or("0"));
    if (const auto layers = m_document.get("schedule.layers_per_stage")) {
        m_layersGiven = true;
        int number = -1;
        for (const char c : *layers + ",")
            if (c >= '0' && c <= '9')
                number = std::min(std::max(number, 0) * 10 + (c - '0'), 100'000);
            else if (number >= 0)
                givenLayersPerStage.push_back(std::exchange(number, -1));
    }
    if (!free.recompute) {
        const std::string recompute = m_document.get("training.recompute").value_or("\"none\"");
        held.recompute = recompute.find("full") != std::string::npos        ? Recompute::full
                         : recompute.find("selective") != std::string::npos ? Recompute::selective
                                                                            : Recompute::none;
        held.recomputeLayers = heldInt("training.recompute.layers", 0);
    }
}

} // namespace sim
