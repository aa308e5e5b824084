// Stages, schedule, sequences, batch, precision, perturbations.
#include "sim/scenario/rules.h"

#include "sim/checked.h"
#include "sim/scenario/nearest.h"
#include "sim/scenario/quoted.h"
#include "sim/scenario/schedule_kinds.h"
#include "sim/scenario/validate.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sim {

namespace {

/// Actions of one pipeline: what is made of each in schedule and program takes some hundred bytes. Their ops are counted when
/// the step is simulated (memory_limit.h).
constexpr std::int64_t kMostActions = 4'000'000;

std::string microbatchesText(std::int64_t count)
{
    return std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches");
}

/// Adds to "; nearest: 2" what else would be right.
std::string orElse(const std::string& numbers, const std::string& other)
{
    return numbers + (other.empty() ? "" : numbers.empty() ? "; nearest: " + other : ", or " + other);
}

} // namespace

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
    const std::int64_t copies = m_scenario.modelCopies();
    const std::int64_t count = pp * s.virtualStages / copies;
    const int layers = m_scenario.model.numHiddenLayers;
    const std::string product = "pp " + text(pp) + " x virtual_stages " + text(s.virtualStages) +
                                (copies > 1 ? " / " + text(copies) + " copies of the model" : "") + " = " + text(count) +
                                " stages";
    if (isGiven("/schedule/layers_per_stage")) {
        const auto entries = static_cast<std::int64_t>(s.layersPerStage.size());
        const auto sum = std::accumulate(s.layersPerStage.begin(), s.layersPerStage.end(), std::int64_t{0});
        if (entries != count)
            error("/schedule/layers_per_stage",
                  "the list has " + text(entries) + (entries == 1 ? " entry for " : " entries for ") + product);
        else if (sum != layers)
            error("/schedule/layers_per_stage",
                  "the entries add up to " + text(sum) + ", and the model has " + named("/model/num_hidden_layers", layers));
    } else if (!hasLayersFor(count)) {
        const ChunkRange range = chunksOfKind(s.kind);
        const bool chunks = s.virtualStages > range.least;
        error(chunks ? "/schedule/virtual_stages" : "/layout/pp",
              named("/model/num_hidden_layers", layers) + " cannot fill " + product +
                  orElse(chunks ? nearestNumbers(s.virtualStages, 1, s.virtualStages,
                                                 [&](auto v) { return range.holds(v) && hasLayersFor(pp * v / copies); })
                                : nearestNumbers(pp, 1, pp,
                                                 [&](auto p) {
                                                     return takesRanks(s.kind, p) && hasLayersFor(p * s.virtualStages / copies);
                                                 }),
                         "give layers_per_stage with zeros"));
    }
}

/// "kind 1f1b": one that takes the chunks and ranks as they are, if there is.
std::string Rules::kindInstead() const
{
    const ScheduleSettings& s = m_scenario.schedule;
    const std::int64_t pp = m_scenario.layout.pp;
    for (const char* kind : {"1f1b", "interleaved-1f1b", "looped-bfs"}) {
        const ChunkRange range = chunksOfKind(kind);
        const std::int64_t chunks = isGiven("/schedule/virtual_stages") ? s.virtualStages : range.least;
        if (takesRanks(kind, pp) && range.holds(chunks) && hasLayersFor(pp * chunks))
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
    const std::int64_t copies = m_scenario.modelCopies();
    const ChunkRange chunks = chunksOfKind(s.kind);
    if (!takesRanks(s.kind, pp)) {
        error("/schedule/kind",
              s.kind +
                  (s.kind == "dualpipe" ? " enters from both ends and needs an even number of pipeline ranks"
                                        : " needs at least 2 pipeline ranks") +
                  ", and " + named("/layout/pp", pp) +
                  orElse(nearestNumbers(pp, 1, INT32_MAX, [&](auto ranks) { return takesRanks(s.kind, ranks); }) +
                             " pipeline ranks",
                         s.kind == "interleaved-1f1b" ? kindInstead() : ""));
    } else if (!chunks.holds(s.virtualStages)) {
        const bool tooFew = s.virtualStages < chunks.least;
        const std::string limit = chunks.least == chunks.most ? "exactly " : tooFew ? "at least " : "at most ";
        error("/schedule/virtual_stages",
              s.kind + " has " + limit + counted(tooFew ? chunks.least : chunks.most, "chunk") + " a rank, and " +
                  named("/schedule/virtual_stages", s.virtualStages) +
                  orElse(nearestNumbers(s.virtualStages, chunks.least, tooFew ? chunks.least : chunks.most,
                                        [&](auto v) { return hasLayersFor(pp * v / copies); }),
                         kindInstead()));
    }
    if (s.kind == "interleaved-1f1b" && pp == 2 && !m_scenario.training.overlap.p2p && m_resolution.isSound("/training/overlap"))
        warning("/schedule/kind", "Megatron Core interleaves on more than 2 pipeline ranks only where p2p is not overlapped");
    if (s.kind != "seq-1f1b" && isGiven("/schedule/sequence_slices"))
        warning("/schedule/sequence_slices", "only kind seq-1f1b cuts sequences; kind is " + s.kind);
    if (m_scenario.training.overlap.epComm && s.kind != "1f1b" && s.kind != "interleaved-1f1b" &&
        m_resolution.isSound("/training/overlap"))
        warning("/training/overlap/ep_comm", "only kinds 1f1b and interleaved-1f1b are ordered by it; kind is " + s.kind);
    if (s.kind != "auto" && isGiven("/schedule/memory_cap_gib"))
        warning("/schedule/memory_cap_gib", "only kind auto looks at it; kind is " + s.kind);
    if (s.kind == "custom" && s.actions.empty() && m_resolution.isSound("/schedule/actions"))
        error("/schedule", "custom needs \"actions\": one comma-separated line for each of the " + text(pp) +
                               " pipeline ranks, such as 0F0,0B0");
    if (s.kind != "custom" && isGiven("/schedule/actions"))
        warning("/schedule/actions", "only kind custom executes them; kind is " + s.kind);
    if (s.kind == "custom" && !s.actions.empty() && s.actions.size() != static_cast<std::size_t>(pp))
        error("/schedule/actions", counted(static_cast<std::int64_t>(s.actions.size()), "line") + " for " + text(pp) +
                                       " pipeline ranks; nearest: pp " + text(static_cast<std::int64_t>(s.actions.size())));
}

/// Tokens that context and sequence parallelism cut into whole parts.
std::int64_t Rules::sequenceUnit() const
{
    const Layout& l = m_scenario.layout;
    return (l.cp > 1 ? 2LL * l.cp : 1) * (l.sequenceParallel ? l.tp : 1);
}

void Rules::sequences()
{
    const Layout& l = m_scenario.layout;
    const int length = m_scenario.training.sequenceLength;
    if (!sound({"/training/sequence_length", "/layout/cp", "/layout/tp", "/model"}))
        return;
    const std::int64_t unit = sequenceUnit();
    const Model& m = m_scenario.model;
    const bool isLearned = m.positionEmbedding == PositionEmbedding::learned;
    const auto nearest = [&] {
        return nearestNumbers(
            length, unit, isLearned ? m.maxPositionEmbeddings : std::numeric_limits<int>::max(), [](auto) { return true; }, unit);
    };
    if (length % unit != 0)
        error("/training/sequence_length",
              named("/training/sequence_length", length).substr(16) + " is not a multiple of " + text(unit) + " = " +
                  (l.cp > 1 ? "2 x cp " + text(l.cp) : std::string()) + (l.cp > 1 && l.sequenceParallel ? " x " : "") +
                  (l.sequenceParallel ? "tp " + text(l.tp) + " (sequence parallel)" : "") + nearest());
    slices(length);
    if (length > m.maxPositionEmbeddings) {
        const std::string longer =
            text(length) + " tokens are more than " + named("/model/max_position_embeddings", m.maxPositionEmbeddings);
        if (isLearned)
            error("/training/sequence_length", longer + ", and its positions are learned" + nearest());
        else
            warning("/training/sequence_length", longer);
    }
}

/// Seq1F1B, arXiv 2406.03488: each slice attends to those before it.
void Rules::slices(int length)
{
    const ScheduleSettings& s = m_scenario.schedule;
    const Layout& l = m_scenario.layout;
    if (s.kind != "seq-1f1b" || s.sequenceSlices == 1 || !sound({"/schedule/sequence_slices", "/training/causal"}))
        return;
    if (!m_scenario.training.causal)
        error("/schedule/sequence_slices", "slices of a sequence follow each other only where attention is causal; nearest: 1");
    if (l.cp > 1)
        error("/schedule/kind", "seq-1f1b cuts the sequence itself, and " + named("/layout/cp", l.cp) +
                                    " cuts it too; nearest: cp 1, or kind 1f1b");
    const std::int64_t unit = l.sequenceParallel ? l.tp : 1;
    const auto divides = [&](std::int64_t slices) { return length % slices == 0 && length / slices % unit == 0; };
    if (m_scenario.training.causal && !divides(s.sequenceSlices))
        error("/schedule/sequence_slices", named("/training/sequence_length", length) + " cannot be cut into " +
                                               named("/schedule/sequence_slices", s.sequenceSlices) + " equal slices" +
                                               (unit > 1 ? " of a multiple of tp " + text(unit) + " tokens" : "") +
                                               nearestNumbers(s.sequenceSlices, 1, length, divides));
}

/// Batches that the schedule takes and that are not too many actions.
std::string Rules::nearestBatches(std::int64_t unit, std::int64_t most) const
{
    const ScheduleSettings& s = m_scenario.schedule;
    const int pp = m_scenario.layout.pp;
    const double microbatches = static_cast<double>(kMostActions) / (2.0 * pp * s.virtualStages * s.sequenceSlices);
    const bool isAsked = takesRanks(s.kind, pp) && s.microbatchGroup >= pp && m_resolution.isSound("/schedule");
    return nearestNumbers(
        m_scenario.training.globalBatchSize, unit, std::min(most, static_cast<std::int64_t>(microbatches) * unit),
        [&](std::int64_t batch) { return !isAsked || takesMicrobatches(s.kind, pp, s.microbatchGroup, batch / unit); }, unit);
}

void Rules::batch()
{
    const Layout& l = m_scenario.layout;
    const Training& t = m_scenario.training;
    const ScheduleSettings& s = m_scenario.schedule;
    if (!sound({"/training/global_batch_size", "/training/micro_batch_size", "/layout"}) || !m_worldIsSound)
        return;
    const std::int64_t unit = std::int64_t{t.microBatchSize} * l.dp;
    const std::string product = "micro_batch_size " + text(t.microBatchSize) +
                                m_resolution.origins.of("/training/micro_batch_size") + " x dp " + text(l.dp) +
                                m_resolution.origins.of("/layout/dp") + " = " + text(unit);
    if (unit > kMostSequences)
        return error("/training/micro_batch_size", product + " sequences are more than a step may have, " + text(kMostSequences) +
                                                       "; nearest: " + text(kMostSequences / l.dp));
    if (t.globalBatchSize % unit != 0)
        return error("/training/global_batch_size",
                     text(t.globalBatchSize) + " is not a multiple of " + product + nearestBatches(unit, kMostSequences));
    const std::int64_t microbatches = t.globalBatchSize / unit;
    const double actions = 2.0 * static_cast<double>(microbatches) * l.pp * s.virtualStages * s.sequenceSlices;
    if (actions > static_cast<double>(kMostActions))
        return error("/training/global_batch_size",
                     microbatchesText(microbatches) + " on " + text(std::int64_t{l.pp} * s.virtualStages) + " stages are " +
                         (actions < 1e15 ? text(static_cast<std::int64_t>(actions)) : roughly(actions)) + " actions, more than " +
                         text(kMostActions) + nearestBatches(unit, kMostSequences));
    if (s.kind == "interleaved-1f1b" && l.pp > 1 && m_resolution.isSound("/schedule"))
        interleaving(microbatches, unit);
    else if (!takesMicrobatches(s.kind, l.pp, s.microbatchGroup, microbatches) && takesRanks(s.kind, l.pp) &&
             m_resolution.isSound("/schedule"))
        enoughMicrobatches(microbatches, unit);
    else if (l.pp > 1 && microbatches < l.pp && s.kind != "custom")
        warning("/training/global_batch_size", microbatchesText(microbatches) + " cannot fill " + named("/layout/pp", l.pp) +
                                                   " pipeline ranks; " + text(l.pp * unit) + " sequences would");
}

void Rules::enoughMicrobatches(std::int64_t microbatches, std::int64_t unit)
{
    const ScheduleSettings& s = m_scenario.schedule;
    const int pp = m_scenario.layout.pp;
    const std::int64_t group = s.microbatchGroup;
    const std::string wants = s.kind == "dualpipe" ? "an even number, half for each direction, of at least " + text(2LL * pp)
                              : s.kind == "dualpipe-v"
                                  ? "at least " + text(2LL * pp)
                                  : "whole rounds of " + text(group) + m_resolution.origins.of("/schedule/microbatch_group");
    if (s.kind == "interleaved-zb" && group < pp)
        return error("/schedule/microbatch_group", text(group) + " is smaller than " + named("/layout/pp", pp) +
                                                       nearestNumbers(group, pp, pp, [](auto) { return true; }));
    error("/training/global_batch_size", text(microbatches * unit) + " gives " + microbatchesText(microbatches) + ", and " +
                                             s.kind + " on pp " + text(pp) + " wants " + wants +
                                             nearestBatches(unit, kMostSequences));
}

void Rules::interleaving(std::int64_t microbatches, std::int64_t unit)
{
    const int pp = m_scenario.layout.pp;
    const std::int64_t group = m_scenario.schedule.microbatchGroup;
    const auto legal = [pp](std::int64_t g, std::int64_t m) { return isLegalGroup(pp, g, m); };
    if (legal(group, microbatches))
        return;
    const std::string groups = "groups of " + text(group) + m_resolution.origins.of("/schedule/microbatch_group");
    if (group < pp) {
        error("/schedule/microbatch_group",
              text(group) + " is smaller than " + named("/layout/pp", pp) +
                  nearestNumbers(group, pp, microbatches, [&](std::int64_t g) { return legal(g, microbatches); }));
        return;
    }
    error("/training/global_batch_size", text(microbatches * unit) + " gives " + microbatchesText(microbatches) +
                                             ", which interleaved-1f1b on pp " + text(pp) + " cannot take in " + groups +
                                             nearestBatches(unit, kMostSequences));
}

void Rules::precisionAndOverlap()
{
    const Training& t = m_scenario.training;
    const Gpu& gpu = m_scenario.cluster.gpu;
    if (sound({"/training/precision", "/cluster/gpu"}) && !gpu.peakTflops.empty() && !gpu.peakTflops.contains(t.precision)) {
        std::string supported;
        for (const auto& [precision, rate] : gpu.peakTflops)
            supported += (supported.empty() ? "" : ", ") + std::string(toWord(kPrecisionWords, precision));
        error("/training/precision", shownText(gpu.name) + " has no " + std::string(toWord(kPrecisionWords, t.precision)) +
                                         m_resolution.origins.of("/training/precision") + "; it has " + supported);
    }
    recomputation();
    const int zeroStage = m_scenario.layout.zeroStage;
    if (t.overlap.paramGather && !t.overlap.gradReduce && (zeroStage == 1 || zeroStage == 2))
        warning("/training/overlap/param_gather", "Megatron Core overlaps parameter gathering only together with grad_reduce");
    if (t.overlap.tpComm && m_scenario.layout.tp > 1 && !m_scenario.layout.sequenceParallel)
        warning("/training/overlap/tp_comm", "Megatron Core overlaps tensor parallel communication only with sequence_parallel");
}

void Rules::recomputation()
{
    const Training& t = m_scenario.training;
    const auto& layers = m_scenario.schedule.layersPerStage;
    if (t.recomputeLayers == 0 || layers.empty() || !sound({"/training/recompute", "/schedule", "/layout/pp", "/model"}))
        return;
    const int most = *std::max_element(layers.begin(), layers.end());
    if (t.recompute != Recompute::full)
        warning("/training/recompute/layers",
                "has an effect with kind full only; kind is " + std::string(toWord(kRecomputeWords, t.recompute)));
    else if (t.recomputeLayers > most)
        error("/training/recompute/layers", text(t.recomputeLayers) +
                                                " layers of each chunk cannot be recomputed: the largest has " + text(most) +
                                                (most > 0 ? "; nearest: " + text(most) : ""));
}

void Rules::perturbations()
{
    const auto& list = m_scenario.perturbations;
    if (!sound({"/perturbations", "/layout"}) || !m_worldIsSound)
        return;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string at = "/perturbations/" + text(static_cast<std::int64_t>(i));
        unusedKeys(list[i].kind, at);
        if (list[i].kind == PerturbationKind::failure)
            error(at + "/kind", "failure is not available yet; available: slow_gpu, slow_link, jitter");
        if (list[i].rank >= m_scenario.layout.worldSize())
            error(at + "/rank",
                  "there is no rank " + text(list[i].rank) + "; the layout has 0 to " + text(m_scenario.layout.worldSize() - 1));
    }
}

/// Keys that another kind of perturbation would have looked at.
void Rules::unusedKeys(PerturbationKind kind, const std::string& at)
{
    const bool isSlow = kind == PerturbationKind::slowGpu || kind == PerturbationKind::slowLink;
    const bool isJitter = kind == PerturbationKind::jitter;
    for (const auto& [key, isUsed] :
         {std::pair{"/factor", isSlow}, {"/sigma", isJitter}, {"/seed", isJitter}, {"/at_s", kind == PerturbationKind::failure}})
        if (!isUsed && isGiven(at + key))
            warning(at + key, "has no effect on " + std::string(toWord(kPerturbationWords, kind)));
}

} // namespace sim
