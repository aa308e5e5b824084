// Time and speed. Explanations of FLOPs and parameters are in explain_model.cpp, those of memory in explain_memory.cpp.
#include "sim/analysis/explain/explainer.h"
#include "sim/simulate/purpose_name.h"

#include "sim/analysis/explain/closed_forms.h"
#include "sim/analysis/explain/explain_traffic.h"
#include "sim/analysis/goodput.h"
#include "sim/analysis/whole_run.h"
#include "sim/cost/cost.h"
#include "sim/engine/classes.h"
#include "sim/engine/documents.h"
#include "sim/index.h"
#include "sim/program/program.h"
#include "sim/scenario/words.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <array>
#include <cctype>
#include <numeric>

namespace sim {
namespace {

constexpr ByDimension<MetricId> kExposed{
    {MetricId::exposedTp, MetricId::exposedCp, MetricId::exposedEp, MetricId::exposedPp, MetricId::exposedDp}};

/// Nothing for what is not of one dimension.
std::optional<Dimension> dimensionOf(MetricId id)
{
    for (const Dimension dimension : kDimensions)
        if (kExposed[dimension] == id)
            return dimension;
    return std::nullopt;
}

std::vector<Quantity> quantitiesOf(const std::vector<Term>& terms)
{
    std::vector<Quantity> quantities;
    for (const Term& term : terms)
        quantities.push_back(term.quantity);
    return quantities;
}

/// Whose groups, where a dimension has several kinds.
std::string groupsPrefix(CommunicatorRole role)
{
    switch (role) {
    case CommunicatorRole::exptTp:
        return "slices of experts: ";
    case CommunicatorRole::dpReplicate:
        return "replicas: ";
    case CommunicatorRole::exptDp:
        return "experts: ";
    case CommunicatorRole::exptReplicate:
        return "replicas of experts: ";
    case CommunicatorRole::embd:
        return "ends of a pipeline: ";
    case CommunicatorRole::copies:
        return "copies of a stage: ";
    default:
        return "";
    }
}

Account accountOf(const Simulation& simulation, StepPart part, const ByStepPart<double>& seconds)
{
    return {partTitle(simulation, part), partSymbol(simulation, part), seconds[part], Unit::seconds};
}

} // namespace

Explainer::Explainer(const Simulation& simulation, std::optional<int> rank)
    : m_simulation(simulation), m_scenario(simulation.scenario()), m_seconds(stepByFlops(simulation)),
      m_flops(stepFlops(simulation.scenario(), attentionFlopsShare(simulation.scenario()))),
      m_rank(rank.value_or(fullestRank(simulation))), m_rankIsFullest(!rank)
{
}

Formula Explainer::peakTerm(Account& account) const
{
    return account.term("P", peakFlops(), Unit::flopRate,
                        "dense " + std::string(toWord(kPrecisionWords, m_scenario.training.precision)) + " peak of " +
                            m_scenario.cluster.gpu.name);
}

Formula Explainer::worldTerm(Account& account) const
{
    const Layout& l = m_scenario.layout;
    std::string product;
    for (const auto& [name, size] : {std::pair{"tp", l.tp}, {"cp", l.cp}, {"pp", l.pp}, {"dp", l.dp}})
        if (size > 1)
            product += (product.empty() ? " = " : " × ") + std::string(name) + " " + std::to_string(size);
    return account.term("N", world(), Unit::count, "GPUs" + product);
}

Explanation Explainer::stepTimeLeaf() const
{
    Account account("step time", "T", step(), Unit::seconds);
    return account.close({},
                         "Simulated: from the first op of a step to the end of its last, the optimizer's included, on any rank.",
                         kSimulated, {.pictures = {"timeline"}});
}

Explanation Explainer::stepTime() const
{
    Account account("Step time", "T", step(), Unit::seconds);
    std::vector<Formula> parts;
    for (const StepPart part : presentParts(m_seconds))
        parts.push_back(account.term(share(part)));
    const Uncertainty& sure = m_scenario.uncertainty;
    const std::string likely = sure.basis.empty() ? std::string()
                               : !sure.isKnown()  ? " How far that may be off is not known: " + sure.basis + "."
                                                  : " By " + sure.basis + ", " + chosenPercentText(sure.level) +
                                                       " of such steps are expected between " + percentText(sure.stepLow) +
                                                       " and " + percentText(sure.stepHigh) + " of what is predicted: here " +
                                                       numberText(step() * sure.stepLow, Unit::seconds) + " to " +
                                                       numberText(step() * sure.stepHigh, Unit::seconds) + ".";
    return account.close(
        Formula::sum(std::move(parts)),
        "From the first op of the step to the end of its last on any rank, optimizer included. The parts are means "
        "over all ranks." +
            likely,
        std::string("Simulated; model and recomputed FLOPs apart as in ") + kKorthikanti6, {.pictures = {"timeline"}});
}

Explanation Explainer::share(StepPart part) const
{
    const auto dimension = dimensionOfPart(part);
    if (!dimension)
        return part == StepPart::modelFlops        ? idealTime()
               : part == StepPart::recomputedFlops ? recomputeTime()
               : part == StepPart::belowPeak       ? kernelTime()
               : part == StepPart::host            ? hostTime()
                                                   : bubbleTime();
    Account account = accountOf(m_simulation, part, m_seconds);
    return account.close(
        sumOfKinds(exposedKindsOfStep()[*dimension], part, account),
        "Measured in the simulated step, mean over ranks: a transfer runs and the rank's next kernel waits for it. " +
            groupText(*dimension),
        kSimulated, showOf(*dimension));
}

/// The longest by name; a step has some dozen kinds of transfers at most, of which a few are exposed.
std::optional<Formula> Explainer::sumOfKinds(const std::vector<ExposedKind>& kinds, StepPart part, Account& account) const
{
    constexpr std::size_t kMostListed = 8;
    std::vector<Formula> parts;
    double listed = 0;
    const std::size_t named = kinds.size() <= kMostListed ? kinds.size() : kMostListed - 1;
    const std::string symbol = partSymbol(m_simulation, part);
    for (std::size_t i = 0; i < named; ++i) {
        const bool isLast = i + 1 == kinds.size(); // closes the sum: means are rounded to nanoseconds elsewhere
        parts.push_back(account.term(symbol + std::to_string(i + 1), isLast ? m_seconds[part] - listed : kinds[i].seconds,
                                     Unit::seconds, spokenOp(kinds[i].op)));
        listed += kinds[i].seconds;
    }
    if (named < kinds.size())
        parts.push_back(account.term(symbol + "_rest", m_seconds[part] - listed, Unit::seconds,
                                     "the other " + std::to_string(kinds.size() - named) + " kinds of transfers"));
    return parts.empty() ? std::nullopt : std::optional(Formula::sum(std::move(parts)));
}

const ExposedKinds& Explainer::exposedKindsOfStep() const
{
    constexpr std::int64_t kMostOps = 10'000'000; // beyond, all ops are not looked at once more for a click
    if (!m_exposedKinds)
        m_exposedKinds = m_simulation.metrics().simulatedOps <= kMostOps ? exposedKinds(m_simulation) : ExposedKinds();
    return *m_exposedKinds;
}

Explanation Explainer::idealTime() const
{
    Account account = accountOf(m_simulation, StepPart::modelFlops, m_seconds);
    const Formula flops = account.term(modelFlops(!m_scenario.training.causal));
    return account.close(flops / capability(account), "What the step would take if every GPU ran at its peak.",
                         m_scenario.training.causal ? kPalmBHalved : kPalmB);
}

Explanation Explainer::recomputeTime() const
{
    Account account = accountOf(m_simulation, StepPart::recomputedFlops, m_seconds);
    const Formula hardware = account.term(hardwareFlops());
    const Formula model = account.term("C", m_flops.modelCausal, Unit::flops, "model FLOPs of a step");
    return account.close((hardware - model) / capability(account),
                         "FLOPs that the backward pass runs a second time, at peak speed.", kKorthikanti6,
                         {.pictures = {"timeline"}, .classes = {OpClass::recompute}});
}

Explanation Explainer::kernelTime() const
{
    Account account = accountOf(m_simulation, StepPart::belowPeak, m_seconds);
    const Formula busy = account.term("t_busy", m_seconds.busy(), Unit::seconds, "kernels run; mean over ranks, simulated");
    const double model = m_seconds[StepPart::modelFlops], again = m_seconds[StepPart::recomputedFlops];
    Formula rest = busy - account.term("t_model", model, Unit::seconds, "model FLOPs at peak speed");
    if (again > 0)
        rest = rest - account.term("t_again", again, Unit::seconds, "recomputed FLOPs at peak speed");
    return account.close(rest,
                         "Matrix products below peak (tiles, waves, short sums), kernels bound by memory, the optimizer: " +
                             percentText((model + again) / m_seconds.busy()) + " of the peak is reached while kernels run.",
                         "Roofline with tile and wave quantisation; constants of the GPU type and of the software",
                         {.pictures = {"timeline"}});
}

Explanation Explainer::hostTime() const
{
    Account account = accountOf(m_simulation, StepPart::host, m_seconds);
    const Stack& stack = m_scenario.training.stack;
    const auto micros = [](double us) { return numberText(us, Unit::number) + " µs"; };
    const CostModel cost(m_scenario);
    const bool isLaunched = cost.countsLaunches();
    std::string convention = "Measured in the simulated step, mean over ranks";
    convention +=
        isLaunched ? ": the rank's next kernel, or a transfer that it waits for, could begin and is not launched yet. " : ". ";
    if (!isLaunched) {
        convention += "A CPU calls its kernels, it launches none.";
    } else if (stack.cudaGraphs == CudaGraphs::step) {
        convention += "CUDA graphs launch the kernels of a step at once.";
    } else {
        convention += "The host launches a kernel in " + micros(stack.launchUs) + " forward and " +
                      micros(stack.backwardLaunchUs) + " backward, a collective in " + micros(stack.collectiveLaunchUs);
        if (stack.expertLaunchUs > 0 && m_scenario.model.numExperts > 0)
            convention += ", experts one by one in " + micros(stack.expertLaunchUs) + " each";
        convention += stack.cudaGraphs == CudaGraphs::attention ? "; CUDA graphs launch those of attention at once." : ".";
    }
    if (const HardwareProfile& profile = m_scenario.cluster.efficiency.profile;
        isLaunched && !profile.kernels.empty() && !profile.kernelsAlone)
        convention += " Launches of kernels that were measured are in their times.";
    if (isLaunched && stack.stepMs > 0)
        convention += " Before it launches the optimizer it works for " + numberText(stack.stepMs, Unit::number) + " ms.";
    if (!m_scenario.training.offload.isOn())
        return account.close(sumOfKinds(exposedKindsOfStep().ofHost, StepPart::host, account), convention, kSimulated,
                             {.pictures = {"timeline"}});
    convention += isLaunched ? " Or it" : " It";
    convention += " waits for what goes to the host or comes from it, or for the host's optimizer. A GPU's link carries " +
                  numberText(cost.hostGBs(Stream::toHost), Unit::number) + " GB/s each way; its share of the host's memory " +
                  numberText(cost.hostGBs(Stream::host), Unit::number) + " GB/s.";
    return account.close(sumOfKinds(exposedKindsOfStep().ofHost, StepPart::host, account), convention,
                         "Ren et al. 2021, ZeRO-Offload; event simulation of all ops",
                         {.pictures = {"timeline"}, .classes = {OpClass::hostTransfer}});
}

Explanation Explainer::tokensPerStep() const
{
    const Training& t = m_scenario.training;
    Account account("tokens a step", "D", 1.0 * t.globalBatchSize * t.sequenceLength, Unit::count);
    const Formula batch = account.term("B", t.globalBatchSize, Unit::count, "sequences in the global batch");
    return account.close(batch * account.term("s", t.sequenceLength, Unit::count, "tokens a sequence"), "", "");
}

Explanation Explainer::tokens(bool perGpu) const
{
    const Metrics& m = m_simulation.metrics();
    Account account(perGpu ? "Tokens a second on each GPU" : "Tokens a second", perGpu ? "R_gpu" : "R",
                    perGpu ? m.tokensPerSecondPerGpu : m.tokensPerSecond, Unit::rate);
    const Formula tokens = account.term(tokensPerStep());
    const Formula time = account.term(stepTime());
    std::string whole;
    if (const auto ideal = wholeRun(m_simulation)) {
        const WholeRun run = lastingRun(m_simulation, ideal->tokens);
        whole = " The whole run: " + (std::isfinite(run.days) ? run.text() : "it practically never ends") +
                (failuresOf(m_scenario) != nullptr ? ", with its failures." : ".");
    }
    return account.close(perGpu ? tokens / (time * worldTerm(account)) : tokens / time,
                         "Tokens of the batch, each counted once." + whole, "", {.pictures = {"timeline"}});
}

Explanation Explainer::flopRate(bool hardware) const
{
    const Metrics& m = m_simulation.metrics();
    const double rate = (hardware ? m.hardwareTflopsPerGpu : m.modelTflopsPerGpu) * 1e12;
    Account account(hardware ? "Hardware FLOP/s of each GPU" : "Model FLOP/s of each GPU", hardware ? "r_hw" : "r", rate,
                    Unit::flopRate);
    const Formula flops = account.term(hardware ? hardwareFlops() : modelFlops(!m_scenario.training.causal));
    const Formula time = account.term(stepTime());
    return account.close(flops / (time * worldTerm(account)),
                         hardware ? "With the FLOPs that recomputation runs again."
                                  : "Attention counted as the model needs it (half where causal), no recomputation.",
                         hardware                     ? kKorthikanti6
                         : m_scenario.training.causal ? kPalmBHalved
                                                      : kPalmB);
}

Explanation Explainer::utilisation(MetricId id) const
{
    const bool hardware = id == MetricId::hfu, full = id == MetricId::mfuFullAttention;
    Account account(hardware ? "Hardware FLOPs utilisation"
                    : full   ? "Model FLOPs utilisation, attention in full"
                             : "Model FLOPs utilisation",
                    hardware ? "HFU" : "MFU", metricValue(m_simulation, id), Unit::fraction);
    const Formula flops = account.term(hardware ? hardwareFlops() : modelFlops(full || !m_scenario.training.causal));
    const Formula time = account.term(stepTime());
    const std::string convention =
        hardware ? "Recomputed FLOPs count; attention as the model needs it."
        : full ? "Attention over the whole sequence, also where it is causal, as PaLM and Megatron-LM's papers count: with work "
                 "that causal "
                 "kernels leave out, so it may exceed 100 %. No recomputation."
               : "Attention at half where it is causal, no recomputation, over the dense peak of the precision.";
    return account.close(
        flops / Formula::product({time, worldTerm(account), peakTerm(account)}), convention,
        hardware ? kKorthikanti6
        : full   ? "Chowdhery et al. 2022 (PaLM), appendix B; Narayanan et al. 2021, appendix, without its recomputation"
        : m_scenario.training.causal ? kPalmBHalved
                                     : kPalmB,
        {.pictures = {"timeline"}});
}

/// Means over the ranks of each pipeline coordinate; coordinates have equally many.
Explanation Explainer::bubbleTime() const
{
    const auto& rows = m_simulation.metrics().perPipelineRank;
    Account account = accountOf(m_simulation, StepPart::bubble, m_seconds);
    constexpr std::size_t kMostListed = 16;
    const ShowHint show{.pictures = {"timeline"}, .longestWait = true};
    std::string waits = kBubbleIs;
    if (const double ofExperts = m_simulation.metrics().expertWait; ofExperts > 0)
        waits += " In " + percentText(ofExperts) + " of the step for the rank whose experts have the most tokens.";
    if (rows.size() > kMostListed || rows.size() == 1) {
        const Formula time = account.term("T", step(), Unit::seconds, "step time");
        const Formula busy = account.term("t_busy", m_seconds.busy(), Unit::seconds, "kernels run; mean over ranks");
        const double host = m_seconds[StepPart::host];
        const Formula exposed =
            account.term("t_comm", m_seconds.exposed() - host, Unit::seconds, "exposed communication; mean over ranks");
        Formula rest = time - busy - exposed;
        if (host > 0)
            rest = rest - account.term("t_host", host, Unit::seconds, "waiting for the host; mean over ranks");
        return account.close(std::move(rest), waits, kSimulated, show);
    }
    std::vector<Formula> waiting;
    for (std::size_t i = 0; i < rows.size(); ++i)
        waiting.push_back(account.term("b" + std::to_string(i), rows[i].bubbleSeconds, Unit::seconds,
                                       "pipeline rank " + std::to_string(i) + " waits; simulated"));
    return account.close(Formula::sum(std::move(waiting)) /
                             account.term("p", m_scenario.layout.pp, Unit::count, "pipeline ranks"),
                         waits, kSimulated, show);
}

Explanation Explainer::bubble() const
{
    Account account("Bubble", "β", m_simulation.metrics().bubbleFraction, Unit::fraction);
    const Formula waiting = account.term(bubbleTime());
    const Formula time = account.term(stepTimeLeaf());
    std::string convention = "Mean over ranks, of the whole step.";
    std::string source = kSimulated;
    const std::optional<Slowness> straggler = stragglerWait(m_simulation.slowness(), m_simulation.metrics());
    if (straggler)
        convention +=
            " Without perturbations " + percentText(straggler->bubbleWithout) + " would be: ranks also wait for " +
            (straggler->worst.kind == PerturbationKind::jitter
                 ? "kernels that are late."
                 : "rank " + std::to_string(straggler->worst.rank) +
                       (straggler->worst.kind == PerturbationKind::slowLink ? ", whose link is slow." : ", which is slow."));
    if (const auto form = bubbleForm(m_scenario)) {
        convention += " Equal stages without transfers would give " + form->text +
                      "; over the ideal time, as papers also count, " + form->ofIdeal + ".";
        if (const std::string uneven = unevenStagesText(m_simulation.metrics()); !uneven.empty() && !straggler)
            convention += " " + uneven;
        source = form->source;
    }
    return account.close(waiting / time, convention, source, {.pictures = {"timeline"}});
}

Explanation Explainer::exposedTotal() const
{
    Account account("Exposed communication", "e", m_simulation.metrics().exposedComm.total(), Unit::fraction);
    std::vector<Formula> parts;
    ShowHint show{.pictures = {"timeline"}};
    for (const StepPart part : presentParts(m_seconds)) {
        const auto dimension = dimensionOfPart(part);
        if (!dimension)
            continue;
        parts.push_back(account.term(exposed(*dimension)));
        show.classes.push_back(opClassOf(*dimension));
    }
    return account.close(
        Formula::sum(std::move(parts)),
        "Of the step, mean over ranks: a transfer runs and the rank's next kernel waits for it. Where several fill "
        "the same gap, it counts once.",
        kSimulated, show);
}

Explanation Explainer::exposed(Dimension dimension) const
{
    const std::string name = dimensionName(dimension);
    Account account("Exposed " + purposeName(m_simulation, dimension) + " communication", "e_" + name,
                    m_simulation.metrics().exposedComm[dimension], Unit::fraction);
    const Formula waiting = account.term(share(partOf<StepPart>(dimension)));
    std::string convention = groupText(dimension);
    if (const std::string what = collectivesText(m_simulation, dimension); !what.empty())
        convention += (convention.empty() ? "What passes: " : " What passes: ") + what + ".";
    return account.close(waiting / account.term(stepTimeLeaf()), convention, kSimulated, showOf(dimension));
}

ShowHint Explainer::showOf(Dimension dimension) const
{
    return {.pictures = {"timeline"}, .classes = {opClassOf(dimension)}};
}

std::string Explainer::groupText(Dimension dimension) const
{
    std::string text;
    for (const CommunicatorRole role : rolesUsed(m_simulation.program()))
        if (dimensionOf(role) == dimension)
            text += (text.empty() ? "" : "; ") + groupText(role);
    if (text.empty())
        return "";
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text + ".";
}

std::string Explainer::groupText(CommunicatorRole role) const
{
    const RoleSpan span = roleSpan(role, m_simulation.mesh(), m_simulation.placement(), m_scenario);
    const std::string text = groupsPrefix(role) + "groups of " + countedText(span.ranks, "rank");
    std::vector<std::string> joined; ///< [tier]: "3 of 4 joined by NVLink (300 GB/s a GPU)"
    for (std::size_t i = 0; i < span.groupsSpanning.size(); ++i) {
        const Tier& tier = m_scenario.cluster.tiers[i];
        const int groups = span.groupsSpanning[i];
        const ToldBandwidth bandwidth = toldBandwidth(m_scenario.cluster, i);
        if (groups > 0)
            joined.push_back(
                (groups < span.groups() ? std::to_string(groups) + " of " + std::to_string(span.groups()) + " " : "") +
                "joined by " + spokenNetwork(tier.name) + " (" + numberText(bandwidth.gbs, Unit::number) + " GB/s " +
                bandwidth.of() + ")");
    }
    return std::accumulate(joined.begin(), joined.end(), text,
                           [](const std::string& all, const std::string& next) { return all + ", " + next; });
}

Explanation Explainer::explain(MetricId id) const
{
    if (const auto dimension = dimensionOf(id))
        return exposed(*dimension);
    switch (id) {
    case MetricId::stepTime:
        return stepTime();
    case MetricId::tokensPerSecond:
    case MetricId::tokensPerSecondPerGpu:
        return tokens(id == MetricId::tokensPerSecondPerGpu);
    case MetricId::modelFlopRate:
    case MetricId::hardwareFlopRate:
        return flopRate(id == MetricId::hardwareFlopRate);
    case MetricId::mfu:
    case MetricId::mfuFullAttention:
    case MetricId::hfu:
        return utilisation(id);
    case MetricId::bubble:
        return bubble();
    case MetricId::exposed:
        return exposedTotal();
    case MetricId::peakMemory:
        return memory();
    case MetricId::parameterMemory:
    case MetricId::gradientMemory:
    case MetricId::optimizerMemory:
        return states(id);
    case MetricId::activationMemory:
        return activations();
    case MetricId::bufferMemory:
        return buffers();
    default:
        return parameters();
    }
}

Explanation explain(const Simulation& simulation, MetricId id, std::optional<int> rank)
{
    return Explainer(simulation, rank).explain(id);
}

std::string Explanation::inSymbols() const
{
    if (!formula)
        return {};
    return result.symbol + " = " + formula->inSymbols(quantitiesOf(terms));
}

std::string Explanation::inNumbers() const
{
    if (!formula)
        return {};
    return formula->inNumbers(quantitiesOf(terms));
}

int fullestRank(const Simulation& simulation)
{
    int fullest = 0;
    for (int c = 1; c < simulation.classCount(); ++c)
        if (simulation.memoryOfClass(c).total() > simulation.memoryOfClass(fullest).total())
            fullest = c;
    return simulation.representative(fullest);
}

double metricValue(const Simulation& simulation, MetricId id, std::optional<int> rank)
{
    const Metrics& m = simulation.metrics();
    if (const auto dimension = dimensionOf(id))
        return m.exposedComm[*dimension];
    if (id < MetricId::peakMemory) {
        const std::array values{m.stepTimeSeconds,
                                m.tokensPerSecond,
                                m.tokensPerSecondPerGpu,
                                m.modelTflopsPerGpu * 1e12,
                                m.hardwareTflopsPerGpu * 1e12,
                                m.mfu,
                                m.mfuFullAttention,
                                m.hfu,
                                m.bubbleFraction,
                                m.exposedComm.total()};
        return values[asIndex(id)];
    }
    if (id == MetricId::parameters)
        return static_cast<double>(m.parameters);
    const MemoryBreakdown held = simulation.memoryOfClass(simulation.classOf(rank.value_or(fullestRank(simulation))));
    const std::array bytes{held.total(),   held.parameters,  held.gradients,
                           held.optimizer, held.activations, held.buffers}; // from peakMemory on
    return static_cast<double>(bytes[asIndex(id) - asIndex(MetricId::peakMemory)]);
}

} // namespace sim
