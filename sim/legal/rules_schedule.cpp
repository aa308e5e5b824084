// Stages and the schedule over them, sequences, batch and micro-batches.
#include "sim/checked.h"
#include "sim/legal/rules.h"
#include "sim/legal/schedule_request.h"
#include "sim/text/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sim {

namespace {

/// Actions of one pipeline: what is made of each in schedule and program takes some hundred bytes. Their ops are counted when
/// the step is simulated (memory_limit.h).
constexpr std::int64_t kMostActions = 4'000'000;

std::string microbatchesText(std::int64_t count)
{
    return std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches");
}

} // namespace

void Rules::kind()
{
    if (m_family == nullptr)
        error("/schedule/kind", [&] {
            try {
                scheduleFamily(m_scenario.schedule.kind);
                return std::string();
            } catch (const Error& error) {
                return std::string(error.what());
            }
        });
}

/// The outer two stages may hold nothing but embedding and head.
bool Rules::hasLayersFor(std::int64_t stages) const
{
    return isGiven("/schedule/layers_per_stage") || stages - 2 <= m_scenario.model.numHiddenLayers;
}

void Rules::stages()
{
    const ScheduleSettings& s = m_scenario.schedule;
    if (!sound({"/layout/pp", "/schedule/virtual_stages", "/schedule/layers_per_stage", "/model/num_hidden_layers", "/model"}))
        return;
    const std::int64_t pp = m_scenario.layout.pp;
    const std::int64_t copies = m_family->modelCopies;
    const std::int64_t count = pp * s.virtualStages / copies;
    const int layers = m_scenario.model.numHiddenLayers;
    const auto product = [&] {
        return "pp " + text(pp) + " x virtual_stages " + text(s.virtualStages) +
               (copies > 1 ? " / " + text(copies) + " copies of the model" : "") + " = " + text(count) + " stages";
    };
    if (isGiven("/schedule/layers_per_stage")) {
        const auto entries = static_cast<std::int64_t>(s.layersPerStage.size());
        const auto sum = std::accumulate(s.layersPerStage.begin(), s.layersPerStage.end(), std::int64_t{0});
        if (entries != count)
            error("/schedule/layers_per_stage",
                  [&] { return "the list has " + text(entries) + (entries == 1 ? " entry for " : " entries for ") + product(); });
        else if (sum != layers)
            error("/schedule/layers_per_stage", [&] {
                return "the entries add up to " + text(sum) + ", and the model has " + named("/model/num_hidden_layers", layers);
            });
    } else if (count - 2 > layers) {
        const ChunkRange& range = m_family->chunks;
        const bool chunks = s.virtualStages > range.least;
        error(chunks ? "/schedule/virtual_stages" : "/layout/pp", [&] {
            return named("/model/num_hidden_layers", layers) + " cannot fill " + product() +
                   orElse(chunks ? nearestNumbers(s.virtualStages, 1, s.virtualStages,
                                                  [&](std::int64_t v) { return range.holds(v) && hasLayersFor(pp * v / copies); })
                                 : nearestNumbers(pp, 1, pp,
                                                  [&](std::int64_t p) {
                                                      return m_family->holdsRanks(p) && m_provenance.ranks() % p == 0 &&
                                                             hasLayersFor(p * s.virtualStages / copies);
                                                  }),
                          "give layers_per_stage with zeros");
        });
    }
}

/// "kind 1f1b": one that takes the chunks and ranks as they are, if there is.
std::string Rules::kindInstead() const
{
    const std::int64_t pp = m_scenario.layout.pp;
    for (const char* kind : {"1f1b", "interleaved-1f1b", "looped-bfs"}) {
        const ScheduleFamily& family = scheduleFamily(kind);
        const std::int64_t chunks = isGiven("/schedule/virtual_stages") ? m_scenario.schedule.virtualStages : family.chunks.least;
        if (family.holdsRanks(pp) && family.chunks.holds(chunks) && hasLayersFor(pp * chunks))
            return std::string("kind ") + kind;
    }
    return {};
}

void Rules::scheduleKind()
{
    const ScheduleSettings& s = m_scenario.schedule;
    if (!sound({"/schedule/kind", "/schedule/virtual_stages", "/layout/pp"}))
        return;
    const int pp = m_scenario.layout.pp;
    const PipelineNumbers numbers = pipelineNumbers(m_scenario);
    const auto unmet = m_family->firstUnmet(numbers);
    if (unmet && *unmet < PipelineNumber::group && (*unmet != PipelineNumber::lines || sound({"/schedule/actions"}))) {
        const UnmetDemand demand = *m_family->unmetDemand(numbers, {});
        const std::int64_t copies = m_family->modelCopies;
        switch (demand.about) {
        case PipelineNumber::ranks:
            error("/schedule/kind", [&] {
                return demand.says + "; " + valueOf("/layout/pp", pp) +
                       orElse(nearestText(demand.nearest) + " pipeline ranks", demand.otherKind.empty() ? "" : kindInstead());
            });
            break;
        case PipelineNumber::chunks:
            error("/schedule/virtual_stages", [&] {
                std::vector<std::int64_t> nearest = demand.nearest;
                std::erase_if(nearest, [&](std::int64_t v) { return !hasLayersFor(pp * v / copies); });
                return demand.says + "; " + valueOf("/schedule/virtual_stages", s.virtualStages) +
                       orElse(nearestText(nearest), kindInstead());
            });
            break;
        default:
            error(s.actions.empty() ? "/schedule" : "/schedule/actions", [&] { return demand.says; });
        }
    }
    if (isTold())
        scheduleKeys();
}

/// Keys that the family does not look at.
void Rules::scheduleKeys()
{
    if (m_family->kind == "interleaved-1f1b" && m_scenario.layout.pp == 2 && !m_scenario.training.overlap.p2p &&
        sound({"/training/overlap"}))
        warning("/schedule/kind",
                [] { return std::string("Megatron Core interleaves on 2 pipeline ranks only where p2p is overlapped"); });
    if (m_scenario.training.overlap.epComm && m_scenario.model.numExperts == 0 && sound({"/training/overlap", "/model"}))
        warning("/training/overlap/ep_comm", [] { return std::string("has no effect: the model has no experts"); });
    struct KeyOf {
        const char* key;
        bool isWritten;
        bool (*isUsed)(const ScheduleFamily&);
    };
    for (const auto& [key, isWritten, isUsed] :
         {KeyOf{"/schedule/sequence_slices", isWritten("/schedule/sequence_slices"),
                [](const ScheduleFamily& of) { return of.cutsSequences(); }},
          {"/training/overlap/ep_comm",
           m_scenario.training.overlap.epComm && m_scenario.model.numExperts > 0 && sound({"/training/overlap", "/model"}),
           [](const ScheduleFamily& of) { return of.overlapsExperts; }},
          {"/schedule/memory_cap_gib", isWritten("/schedule/memory_cap_gib"),
           [](const ScheduleFamily& of) { return of.isSearched; }},
          {"/schedule/actions", isWritten("/schedule/actions"), [](const ScheduleFamily& of) { return of.isWrittenOut; }}})
        if (isWritten && !isUsed(*m_family))
            warning(key, [&, used = isUsed] {
                return "has an effect with kind " + kindsWith(used) + " only; kind is " + m_scenario.schedule.kind;
            });
}

/// Tokens that context and sequence parallelism cut into whole parts.
std::int64_t Rules::sequenceUnit(const Layout& l) const
{
    return (l.cp > 1 ? 2LL * l.cp : 1) * (l.sequenceParallel ? l.tp : 1);
}

void Rules::sequences()
{
    const Layout& l = m_scenario.layout;
    const int length = m_scenario.training.sequenceLength;
    if (!sound({"/training/sequence_length", "/layout/cp", "/layout/tp", "/model"}))
        return;
    const std::int64_t unit = sequenceUnit(l);
    const Model& m = m_scenario.model;
    const bool isLearned = m.positionEmbedding == PositionEmbedding::learned;
    const auto nearest = [&] {
        return nearestNumbers(
            length, unit, isLearned ? m.maxPositionEmbeddings : std::numeric_limits<int>::max(), [](auto) { return true; }, unit);
    };
    if (length % unit != 0)
        error("/training/sequence_length", [&] {
            return named("/training/sequence_length", length).substr(16) + " is not a multiple of " + text(unit) + " = " +
                   (l.cp > 1 ? "2 x cp " + text(l.cp) : std::string()) + (l.cp > 1 && l.sequenceParallel ? " x " : "") +
                   (l.sequenceParallel ? "tp " + text(l.tp) + " (sequence parallel)" : "") +
                   orElse(orElse(nearest(), l.cp > 1 ? otherSizes("cp", &Layout::cp) : std::string()),
                          l.sequenceParallel ? otherSizes("tp", &Layout::tp, 2) : std::string());
        });
    slices(length);
    if (length > m.maxPositionEmbeddings) {
        const auto longer = [&] {
            return text(length) + " tokens are more than " + named("/model/max_position_embeddings", m.maxPositionEmbeddings);
        };
        if (isLearned)
            error("/training/sequence_length", [&] { return longer() + ", and its positions are learned" + nearest(); });
        else
            warning("/training/sequence_length", longer);
    }
}

/// Seq1F1B, arXiv 2406.03488: each slice attends to those before it.
void Rules::slices(int length)
{
    const ScheduleSettings& s = m_scenario.schedule;
    const Layout& l = m_scenario.layout;
    if (s.sequenceSlices == 1 || !sound({"/schedule/sequence_slices", "/training/causal"}))
        return;
    if (!m_scenario.training.causal)
        error("/schedule/sequence_slices",
              [&] { return std::string("slices of a sequence follow each other only where attention is causal; nearest: 1"); });
    if (l.cp > 1)
        error("/schedule/kind", [&] {
            return s.kind + " cuts the sequence itself, and " + named("/layout/cp", l.cp) +
                   " cuts it too; nearest: cp 1, or kind 1f1b";
        });
    const std::int64_t unit = l.sequenceParallel ? l.tp : 1;
    const auto divides = [&](std::int64_t slices) { return length % slices == 0 && length / slices % unit == 0; };
    if (m_scenario.training.causal && !divides(s.sequenceSlices))
        error("/schedule/sequence_slices", [&] {
            return named("/training/sequence_length", length) + " cannot be cut into " +
                   named("/schedule/sequence_slices", s.sequenceSlices) + " equal slices" +
                   (unit > 1 ? " of a multiple of tp " + text(unit) + " tokens" : "") +
                   nearestNumbers(s.sequenceSlices, 1, length, divides);
        });
}

bool Rules::takesMicrobatches(std::int64_t count) const
{
    PipelineNumbers numbers = pipelineNumbers(m_scenario);
    numbers.chunks = m_family->chunks.least;
    numbers.lines = numbers.ranks;
    numbers.microbatches = count;
    const auto unmet = m_family->firstUnmet(numbers);
    return !sound({"/schedule"}) || !unmet || *unmet != PipelineNumber::microbatches;
}

/// Batches that the schedule takes and that are not too many actions.
std::string Rules::nearestBatches(std::int64_t unit, std::int64_t most) const
{
    const ScheduleSettings& s = m_scenario.schedule;
    const auto isTaken = [&](std::int64_t batch) { return takesMicrobatches(batch / unit); };
    const double mostMicrobatches =
        static_cast<double>(kMostActions) / (2.0 * m_scenario.layout.pp * s.virtualStages * s.sequenceSlices);
    return nearestNumbers(m_scenario.training.globalBatchSize, unit,
                          std::min(most, static_cast<std::int64_t>(mostMicrobatches) * unit), isTaken, unit);
}

std::string Rules::otherMicroBatches() const
{
    const Training& t = m_scenario.training;
    const std::int64_t ofRank = t.globalBatchSize / m_scenario.layout.dp;
    if (t.microBatchSize == 1 || t.globalBatchSize % m_scenario.layout.dp != 0)
        return {};
    const auto nearest = nearestValues(t.microBatchSize, 1, ofRank,
                                       [&](std::int64_t size) { return ofRank % size == 0 && takesMicrobatches(ofRank / size); });
    return nearest.empty() ? std::string() : "micro_batch_size " + numbersText(nearest);
}

/// A batch is often told in tokens, "4M"; as sequences that is a step that nobody takes: DeepSeek-V3's has 63 million tokens.
void Rules::batchOfTokens()
{
    constexpr double kUnheardOf = 2.5e8;
    const Training& t = m_scenario.training;
    const double tokens = 1.0 * t.globalBatchSize * t.sequenceLength;
    if (tokens < kUnheardOf || t.globalBatchSize < t.sequenceLength || !isGiven("/training/global_batch_size") ||
        !sound({"/training/sequence_length"}))
        return;
    warning("/training/global_batch_size", [&] {
        const std::string ofTokens = t.globalBatchSize % t.sequenceLength == 0 ? "" : "about ";
        return "counts sequences: " + text(t.globalBatchSize) + " of " + named("/training/sequence_length", t.sequenceLength) +
               " are a step of " + roughly(tokens) + " tokens; if it is meant in tokens, they are " + ofTokens +
               text(std::llround(1.0 * t.globalBatchSize / t.sequenceLength)) + " sequences";
    });
}

void Rules::batch()
{
    const Layout& l = m_scenario.layout;
    const Training& t = m_scenario.training;
    if (!sound({"/training/global_batch_size", "/training/micro_batch_size", "/layout"}) || !m_worldIsSound)
        return;
    batchOfTokens();
    const std::int64_t unit = std::int64_t{t.microBatchSize} * l.dp;
    const auto factors = [&] {
        return "micro_batch_size " + text(t.microBatchSize) + m_provenance.originOf("/training/micro_batch_size") + " x dp " +
               text(l.dp) + m_provenance.originOf("/layout/dp");
    };
    if (unit > kMostSequences)
        return error("/training/micro_batch_size", [&] {
            return factors() + " = " + text(unit) + " sequences are more than a step may have, " + text(kMostSequences) +
                   "; nearest: " + text(kMostSequences / l.dp);
        });
    if (t.globalBatchSize % unit != 0)
        error("/training/global_batch_size", [&] {
            return text(t.globalBatchSize) + " is not a multiple of " + text(unit) + " = " + factors() +
                   orElse(nearestBatches(unit, kMostSequences), otherMicroBatches());
        });
}

/// What the schedule asks of the batch; of ranks and chunks, scheduleKind has told.
void Rules::microbatches()
{
    const Training& t = m_scenario.training;
    const ScheduleSettings& s = m_scenario.schedule;
    if (!sound({"/training/global_batch_size", "/training/micro_batch_size", "/layout"}) || !m_worldIsSound)
        return;
    const std::int64_t unit = std::int64_t{t.microBatchSize} * m_scenario.layout.dp;
    if (unit > kMostSequences || t.globalBatchSize % unit != 0)
        return; // batch has told
    const std::int64_t count = t.globalBatchSize / unit;
    const int pp = m_scenario.layout.pp;
    const double actions = 2.0 * static_cast<double>(count) * pp * s.virtualStages * s.sequenceSlices;
    if (actions > static_cast<double>(kMostActions))
        return error("/training/global_batch_size", [&] {
            return microbatchesText(count) + " on " + text(std::int64_t{pp} * s.virtualStages) + " stages are " +
                   (actions < 1e15 ? text(static_cast<std::int64_t>(actions)) : roughly(actions)) + " actions, more than " +
                   text(kMostActions) + nearestBatches(unit, kMostSequences);
        });
    if (!sound({"/schedule"}))
        return;
    PipelineNumbers numbers = pipelineNumbers(m_scenario);
    numbers.chunks = m_family->chunks.least;
    numbers.lines = pp;
    const auto unmet = m_family->firstUnmet(numbers);
    if (!unmet) {
        const std::int64_t slices = s.sequenceSlices; // they follow each other as micro-batches do
        if (pp > 1 && count * slices < pp && !m_family->isWrittenOut)
            warning("/training/global_batch_size", [&] {
                return microbatchesText(count) + (slices > 1 ? " in " + text(slices) + " slices" : "") + " cannot fill " +
                       named("/layout/pp", pp) + " pipeline ranks; " + text((pp + slices - 1) / slices * unit) +
                       " sequences would";
            });
        return;
    }
    if (*unmet < PipelineNumber::group)
        return;
    const bool isGroup = *unmet == PipelineNumber::group;
    error(isGroup ? "/schedule/microbatch_group" : "/training/global_batch_size", [&] {
        UnmetDemand demand =
            *m_family->unmetDemand(numbers, text(numbers.group) + m_provenance.originOf("/schedule/microbatch_group"));
        if (isGroup)
            return demand.says + "; " + valueOf("/schedule/microbatch_group", numbers.group) + nearestText(demand.nearest);
        return text(count * unit) + " gives " + microbatchesText(count) + ", and " + demand.says +
               orElse(nearestBatches(unit, kMostSequences),
                      demand.groups.empty() ? "" : "microbatch_group " + numbersText(demand.groups));
    });
}

} // namespace sim
