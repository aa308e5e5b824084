#include "sim/calibration/calibrate.h"

#include "sim/calibration/curve_form.h"
#include "sim/calibration/kernel_kind.h"
#include "sim/calibration/predicted_ops.h"
#include "sim/cost/cost.h"
#include "sim/error.h"
#include "sim/recovery/rank_numbers.h"
#include "sim/recovery/rank_time.h"
#include "sim/recovery/slow_ranks.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/text/number_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace sim {
namespace {

constexpr double kNs = 1e-9;

/// Times that were measured, and how many of them.
struct Amount {
    double ns = 0, count = 0;
    void add(double of)
    {
        ns += of;
        count += 1;
    }
    double mean() const { return count > 0 ? ns / count : 0; }
};

using OpSize = std::pair<std::int64_t, std::int64_t>; ///< FLOP, bytes
OpSize sizeOf(double flops, std::int64_t bytes)
{
    return {flops < 9e18 ? std::llround(flops) : 0, bytes};
}

/// What is measured together, as a whole and by size.
struct MeasuredRow {
    Amount all;
    std::map<OpSize, Amount> bySize;
    std::map<OpSize, Amount> waiting; ///< of transfers whose other members are not all recorded: until settled in neither of both
    std::string note;
};
using MeasuredRows = std::map<std::string, MeasuredRow>;

double medianOf(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Reads some of the recorded steps against one prediction.
class Calibrator {
public:
    Calibrator(const Recording& recording, const Recovered& recovered, const Simulation& simulation,
               std::vector<std::size_t> steps)
        : m_recording(recording), m_recovered(recovered), m_simulation(simulation), m_steps(std::move(steps)),
          m_predicted(predictedOps(simulation, recovered)), m_axes(recovered)
    {
        for (const PredictedKernel& kernel : m_predicted.kernels)
            m_kernelLabels.insert(kernel.label);
        for (const PredictedTransfer& transfer : m_predicted.transfers)
            if (!transfer.label.empty())
                m_transferLabels.insert(transfer.label);
    }

    RunCalibration calibrate()
    {
        std::vector<double> seconds;
        for (const std::size_t step : m_steps)
            seconds.push_back(m_recovered.steps.steps[step].seconds());
        m_result.steps = m_steps.size();
        m_result.measuredSeconds = medianOf(std::move(seconds));
        m_result.predictedSeconds = m_simulation.metrics().stepTimeSeconds;
        measureKernels();
        measureTransfers();
        compareKernels();
        compareTransfers();
        addForm(m_result.profile, m_simulation.scenario(), m_predicted);
        m_result.profile.device = m_simulation.scenario().cluster.gpu.name;
        m_result.profile.precision = m_simulation.scenario().training.precision;
        m_result.profile.kernelsAlone = true; // a trace has launches apart, and the stack says what they take
        for (auto* rows : {&m_result.kernels, &m_result.transfers})
            std::stable_sort(rows->begin(), rows->end(), [](const CalibratedClass& a, const CalibratedClass& b) {
                return std::max(a.measuredSeconds, a.predictedSeconds) > std::max(b.measuredSeconds, b.predictedSeconds);
            });
        return std::move(m_result);
    }

private:
    bool isInSteps(std::size_t rank, std::int64_t ns) const
    {
        const auto& steps = m_recovered.steps.steps;
        const auto after = std::upper_bound(m_steps.begin(), m_steps.end(), ns, [&](std::int64_t at, std::size_t step) {
            return at < steps[step].rankStartNs[rank];
        });
        return after != m_steps.begin() && ns < steps[*std::prev(after)].rankEndNs[rank];
    }
    double perStepAndRank() const
    {
        return 1.0 / std::max(1.0, static_cast<double>(m_steps.size()) * static_cast<double>(m_predicted.ranks));
    }
    double perRank() const { return 1.0 / std::max(1.0, static_cast<double>(m_predicted.ranks)); }
    static std::string rowOf(const std::string& label, OpClass opClass) { return label + ", " + opClassName(opClass); }
    std::string axesOfSpan(const CommSpan& span) const
    {
        return span.group < 0 ? std::string("an unknown group") : m_axes.of(span.group, span.exchange);
    }
    static std::string rowOf(Exchange exchange, const std::string& axes)
    {
        const bool isSend = exchange == Exchange::send || (exchange == Exchange::sendReceive && axes == "pp");
        return std::string(exchangeName(isSend ? Exchange::send : exchange)) + " over " +
               (axes.empty() || axes == kAllToAllUse ? "groups of unknown use" : axes);
    }

    /// What a row's ops were predicted to take together, and which of their times a profile gets.
    struct RowPrice {
        double ns = 0, count = 0, ratio = 0;
        bool isOneToOne = false; ///< as many were recorded as predicted: one is the other. Else what they take together counts
        /// Of one op: measured at its size, or else by the row's ratio.
        double oneNs(const MeasuredRow& row, const OpSize& size, double predictedNs) const
        {
            const auto exact = row.bySize.find(size);
            return isOneToOne && exact != row.bySize.end() ? exact->second.mean() : predictedNs * ratio;
        }
    };
    template <typename Op>
    CalibratedClass compared(const std::string& name, const MeasuredRow&, const std::vector<const Op*>&, bool isByOp,
                             RowPrice&) const;

    void measureKernels();
    void addKernelsOfPeers(const std::vector<MeasuredRows>& ofRank, const std::vector<std::size_t>& peers);
    void measureTransfers();
    void addTransfer(const CommSpan&, std::size_t rank, double ns, bool isWithWaiting);
    static void settleWaiting(MeasuredRow&);
    void compareKernels();
    void compareTransfers();

    const Recording& m_recording;
    const Recovered& m_recovered;
    const Simulation& m_simulation;
    std::vector<std::size_t> m_steps; ///< indices into RecoveredSteps::steps
    PredictedOps m_predicted;
    AxesOfGroups m_axes;
    std::set<std::string> m_kernelLabels, m_transferLabels;
    MeasuredRows m_kernels, m_transfers;
    bool m_isNamed = false; ///< kernels bear the names of ops
    bool m_areTransfersNamed = false;
    RunCalibration m_result;
};

void Calibrator::measureKernels()
{
    const std::vector<int> numbers = numbersOf(m_recording).ofRank;
    const std::size_t ranks = m_recovered.evidence.ranks.size();
    std::vector<MeasuredRows> ofRank(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        const int rank = m_recovered.evidence.ranks[r].rank;
        const auto number = std::find(numbers.begin(), numbers.end(), rank);
        if (number == numbers.end() || rank >= m_simulation.mesh().worldSize())
            continue;
        const RankRecording& recorded = m_recording.ranks[static_cast<std::size_t>(number - numbers.begin())];
        const RecordedSpans& spans = recorded.spans;
        for (const RecordedTrack& track : recorded.tracks)
            for (std::uint32_t i = track.first; i < track.last; ++i) {
                if (spans.kind[i] != RecordedKind::kernel || !isInSteps(r, m_recovered.clock.aligned(r, spans.startNs[i])))
                    continue;
                const std::string& name = m_recording.names[spans.name[i]];
                const auto ns = static_cast<double>(spans.endNs(i) - spans.startNs[i]);
                const std::uint32_t meant = spans.meaning.empty() ? kNoSpan : spans.meaning[i];
                if (meant == kNoSpan) {
                    ofRank[r][kernelGroupName(kernelGroupOfName(name))].all.add(ns);
                    continue;
                }
                const RecordedMeaning& meaning = m_recording.meanings[meant];
                m_isNamed = m_isNamed || m_kernelLabels.contains(name);
                MeasuredRow& row = ofRank[r][rowOf(name, meaning.opClass)];
                row.all.add(ns);
                row.bySize[sizeOf(meaning.flops, meaning.bytes)].add(ns);
            }
    }
    for (const std::vector<std::size_t>& peers : peersOf(m_recovered))
        addKernelsOfPeers(ofRank, peers);
}

/// Each kernel takes what it takes on the median of the peers, so that one that is slow makes no kernel slower. That one is told
/// apart.
void Calibrator::addKernelsOfPeers(const std::vector<MeasuredRows>& ofRank, const std::vector<std::size_t>& peers)
{
    std::vector<double> own(peers.size(), 0), usual(peers.size(), 0); // ns of a rank; were it as the median
    std::map<std::string, std::set<std::optional<OpSize>>> rows;      // no size: of a row whose kernels say none
    for (const std::size_t r : peers)
        for (const auto& [name, row] : ofRank[r]) {
            if (row.bySize.empty())
                rows[name].insert(std::nullopt);
            for (const auto& [size, amount] : row.bySize)
                rows[name].insert(size);
        }
    // Who has more tokens of experts has longer kernels on a GPU that is none slower: only their sizes would say so.
    const bool hasExperts = m_simulation.scenario().model.numExperts > 0;
    for (const auto& [name, sizes] : rows)
        for (const std::optional<OpSize>& size : sizes) {
            const bool tellsSlowness = size || !hasExperts;
            std::vector<double> means;
            std::vector<const Amount*> amounts(peers.size(), nullptr);
            for (std::size_t i = 0; i < peers.size(); ++i) {
                const auto row = ofRank[peers[i]].find(name);
                if (row == ofRank[peers[i]].end())
                    continue;
                if (!size)
                    amounts[i] = &row->second.all;
                else if (const auto found = row->second.bySize.find(*size); found != row->second.bySize.end())
                    amounts[i] = &found->second;
                if (amounts[i] != nullptr)
                    means.push_back(amounts[i]->mean());
            }
            const auto middle = means.begin() + static_cast<std::ptrdiff_t>((means.size() - 1) / 2); // of two the lower
            std::nth_element(means.begin(), middle, means.end());
            MeasuredRow& row = m_kernels[name];
            for (std::size_t i = 0; i < peers.size(); ++i) {
                if (amounts[i] == nullptr)
                    continue;
                const double ns = *middle * amounts[i]->count;
                own[i] += tellsSlowness ? amounts[i]->ns : 0;
                usual[i] += tellsSlowness ? ns : 0;
                row.all.ns += ns;
                row.all.count += amounts[i]->count;
                if (size) {
                    row.bySize[*size].ns += ns;
                    row.bySize[*size].count += amounts[i]->count;
                }
            }
        }
    constexpr double kClearlySlower = 1.05;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const RankEvidence& rank = m_recovered.evidence.ranks[peers[i]];
        if (peers.size() > 1 && rank.multiplicity == 1 && own[i] > kClearlySlower * usual[i])
            m_result.slowRanks.push_back({.rank = rank.rank, .factor = own[i] / usual[i]});
    }
}

void Calibrator::addTransfer(const CommSpan& span, std::size_t rank, double ns, bool isWithWaiting)
{
    if (m_recovered.evidence.ranks[rank].rank >= m_simulation.mesh().worldSize() || !isInSteps(rank, span.startNs))
        return;
    const std::string& name = m_recovered.evidence.names[span.name];
    const bool isNamed = m_transferLabels.contains(name);
    m_areTransfersNamed = m_areTransfersNamed || isNamed;
    const std::string axes = axesOfSpan(span);
    MeasuredRow& row = m_transfers[isNamed ? name : rowOf(span.exchange, axes)];
    if (isWithWaiting) {
        row.waiting[sizeOf(0, span.bytes)].add(ns);
        return;
    }
    row.all.add(ns);
    row.bySize[sizeOf(0, span.bytes)].add(ns);
}

/// What a transfer takes of which only some members are recorded, others of its size tell of which all are. Where there are none,
/// waiting for those that are missing is in it.
void Calibrator::settleWaiting(MeasuredRow& row)
{
    const std::map<OpSize, Amount> whole = row.bySize;
    double withWaiting = 0;
    for (const auto& [size, amount] : row.waiting) {
        const auto told = whole.find(size);
        withWaiting += told == whole.end() ? amount.count : 0;
        const double ns = told == whole.end() ? amount.ns : told->second.mean() * amount.count;
        Amount& sum = row.bySize[size];
        for (Amount* to : {&sum, &row.all}) {
            to->ns += ns;
            to->count += amount.count;
        }
    }
    if (withWaiting > 0)
        row.note = withWaiting < row.all.count ? "of some sizes not all members are recorded: waiting for the others is in " +
                                                     percentText(withWaiting / row.all.count) + " of them"
                                               : "its other members are not recorded: waiting for them is in it";
    row.waiting.clear();
}

/// The shortest of the members' times is the transfer: what is longer waited for the last of them.
void Calibrator::measureTransfers()
{
    const RunEvidence& evidence = m_recovered.evidence;
    std::vector<std::vector<bool>> isMet;
    for (const RankEvidence& rank : evidence.ranks)
        isMet.emplace_back(rank.comms.size(), false);
    const auto shortest = shortestOfMembers(evidence, m_recovered.meetings);
    for (const std::vector<Meeting>* list : {&m_recovered.meetings.meetings, &m_recovered.meetings.transfers})
        for (const Meeting& meeting : *list) {
            const bool isWithWaiting = !isWhole(evidence, meeting);
            for (const Part& part : meeting.parts) {
                if (isMet[part.rank][part.span])
                    continue; // one of several that its kernel does at once
                isMet[part.rank][part.span] = true;
                if (const CommSpan& span = evidence.ranks[part.rank].comms[part.span]; span.exchange != Exchange::receive)
                    addTransfer(span, part.rank, static_cast<double>(shortest[part.rank][part.span]), isWithWaiting);
            }
        }
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r)
        for (std::size_t i = 0; i < evidence.ranks[r].comms.size(); ++i)
            if (const CommSpan& span = evidence.ranks[r].comms[i]; !isMet[r][i] && span.exchange != Exchange::receive)
                addTransfer(span, r, static_cast<double>(span.endNs - span.startNs), true);
    for (auto& [name, row] : m_transfers)
        settleWaiting(row);
}

template <typename Op>
CalibratedClass Calibrator::compared(const std::string& name, const MeasuredRow& row, const std::vector<const Op*>& ops,
                                     bool isByOp, RowPrice& price) const
{
    for (const Op* op : ops) {
        price.ns += op->ns * op->count;
        price.count += op->count;
    }
    CalibratedClass of{.name = name};
    of.measuredSeconds = row.all.ns * kNs * perStepAndRank();
    of.measuredCount = row.all.count * perStepAndRank();
    of.predictedSeconds = price.ns * kNs * perRank();
    of.predictedCount = price.count * perRank();
    of.note = row.note;
    if (of.measuredSeconds > 0 && of.predictedSeconds > 0)
        of.ratio = of.measuredSeconds / of.predictedSeconds;
    else
        of.note = of.measuredSeconds > 0 ? "the simulation has no such ops" : "none were recorded";
    const double share = of.predictedCount > 0 ? of.measuredCount / of.predictedCount : 0;
    price.isOneToOne = isByOp && share > 0.8 && share < 1.25;
    price.ratio = of.ratio <= 0 ? 0 : price.isOneToOne ? row.all.mean() / (price.ns / price.count) : of.ratio;
    return of;
}

void Calibrator::compareKernels()
{
    std::map<std::string, std::vector<const PredictedKernel*>> rows;
    for (const PredictedKernel& kernel : m_predicted.kernels)
        rows[m_isNamed ? rowOf(kernel.label, kernel.opClass) : kernelGroupName(kernelGroupOf(kernel.shape))].push_back(&kernel);
    for (const auto& [name, row] : m_kernels)
        rows[name]; // also those that only the recording has
    using Shape = std::array<double, 4>;
    std::map<std::string, std::map<Shape, Amount>> curves;
    double withoutCurve = 0, measured = 0;
    for (const auto& [name, kernels] : rows) {
        const MeasuredRow& row = m_kernels[name];
        RowPrice price;
        CalibratedClass of = compared(name, row, kernels, m_isNamed, price);
        measured += of.measuredSeconds;
        for (const PredictedKernel* kernel : kernels) {
            if (price.ratio <= 0)
                break;
            if (kernel->curve.empty()) {
                withoutCurve += of.measuredSeconds / static_cast<double>(kernels.size());
                of.note = "a profile has no curve for it: it keeps its price";
                continue;
            }
            const auto length = [](std::int64_t size) { return static_cast<double>(std::max<std::int64_t>(1, size)); };
            const Shape shape{length(kernel->shape.m), length(kernel->shape.n), length(kernel->shape.k),
                              length(kernel->shape.batch)};
            Amount& point = curves[kernel->curve][shape];
            of.points += point.count == 0 ? 1 : 0;
            point.ns += price.oneNs(row, sizeOf(kernel->shape.flops, kernel->shape.bytes), kernel->ns) * kernel->count;
            point.count += kernel->count;
        }
        if (!m_isNamed && of.ratio > 0 && of.note.empty())
            of.note = "by kind of kernel, as its names say no more";
        m_result.kernels.push_back(std::move(of));
    }
    for (const auto& [curve, shapes] : curves) {
        MeasuredCurve& made = m_result.profile.kernels.emplace_back();
        made.name = curve;
        for (const auto& [shape, point] : shapes)
            if (point.ns > 0)
                made.points.push_back({shape[0], shape[1], shape[2], shape[3], point.mean() * 1e-3});
        if (const std::size_t all = made.points.size(); keepEvenly(made.points, kMostPointsOfCurve))
            m_result.problems.push_back("of " + std::to_string(all) + " shapes of " + curve + " the profile has " +
                                        std::to_string(kMostPointsOfCurve) + ", evenly spread");
    }
    std::erase_if(m_result.profile.kernels, [](const MeasuredCurve& curve) { return curve.points.empty(); });
    if (measured <= 0)
        throw Error("no kernel was recorded in the " + std::to_string(m_steps.size()) +
                    " steps that are looked at, of a rank that is known: there is nothing to calibrate with");
    if (withoutCurve > 0.005 * measured)
        m_result.problems.push_back(std::to_string(std::lround(100 * withoutCurve / measured)) +
                                    " % of the kernels' time is of kinds that a profile has no curve for");
}

void Calibrator::compareTransfers()
{
    std::map<std::string, std::vector<const PredictedTransfer*>> rows;
    for (const PredictedTransfer& transfer : m_predicted.transfers)
        rows[m_areTransfersNamed && !transfer.label.empty() ? transfer.label : rowOf(transfer.exchange, transfer.axes)].push_back(
            &transfer);
    for (const auto& [name, row] : m_transfers)
        rows[name];
    const Cluster& cluster = m_simulation.scenario().cluster;
    std::map<std::string, std::map<std::pair<double, double>, Amount>> curves;
    double outerMeasured = 0, outerPredicted = 0;
    for (const auto& [name, transfers] : rows) {
        const MeasuredRow& row = m_transfers[name];
        RowPrice price;
        CalibratedClass of = compared(name, row, transfers, true, price);
        const std::string measuredNote = of.note;
        const auto addNote = [&](const std::string& note) { of.note = measuredNote + (measuredNote.empty() ? "" : "; ") + note; };
        bool hasLarge = false; // of those that cross nodes
        for (const PredictedTransfer* transfer : transfers) {
            if (price.ratio <= 0)
                break;
            const double oneNs = price.oneNs(row, sizeOf(0, transfer->bytes), transfer->ns);
            if (transfer->tier > 0) {
                const Tier& tier = cluster.tiers[static_cast<std::size_t>(transfer->tier)];
                const double bytesNs = transfer->ns - transfer->latencyNs;
                if (tier.span == 0 || tier.span > cluster.gpusPerNode) {
                    // The links' rate is in large messages alone: of small ones the time is their latency.
                    constexpr double kMostly = 0.9;
                    const bool isLarge = bytesNs >= kMostly * transfer->ns && oneNs > transfer->latencyNs;
                    if (isLarge) {
                        outerMeasured += (oneNs - transfer->latencyNs) * transfer->count;
                        outerPredicted += bytesNs * transfer->count;
                    }
                    hasLarge = hasLarge || isLarge;
                    addNote(hasLarge ? "crosses nodes: in inter_node, not in a curve"
                                     : "crosses nodes in messages too small to tell the links' rate by: in neither inter_node "
                                       "nor a curve");
                } else {
                    addNote("crosses domains of a node, of which a profile says nothing");
                }
                continue;
            }
            Amount& point = curves[transfer->curve]
                                  [{std::max(1.0, static_cast<double>(transfer->bytes)), static_cast<double>(transfer->members)}];
            of.points += point.count == 0 ? 1 : 0;
            point.ns += oneNs * transfer->count;
            point.count += transfer->count;
        }
        m_result.transfers.push_back(std::move(of));
    }
    for (const auto& [curve, sizes] : curves) {
        MeasuredCurve& made = m_result.profile.transfers.emplace_back();
        made.name = curve;
        for (const auto& [size, point] : sizes)
            if (point.ns > 0)
                made.points.push_back({.m = size.first, .n = size.second, .microseconds = point.mean() * 1e-3});
        keepEvenly(made.points, kMostPointsOfCurve);
    }
    std::erase_if(m_result.profile.transfers, [](const MeasuredCurve& curve) { return curve.points.empty(); });
    if (outerMeasured > 0 && outerPredicted > 0) {
        const double before = cluster.efficiency.interNode > 0 ? cluster.efficiency.interNode : cluster.efficiency.network;
        constexpr double kLeast = 0.001;
        m_result.interNode = std::clamp(before * outerPredicted / outerMeasured, kLeast, 1.0);
        if (*m_result.interNode == 1 && before * outerPredicted / outerMeasured > 1.02)
            m_result.problems.push_back("collectives beyond a node are faster than the links that the scenario names; inter_node "
                                        "stays at 1, which is the links' whole rate");
    }
}

/// Steps without the outliers.
std::vector<std::size_t> usualSteps(const RecoveredSteps& steps)
{
    std::vector<std::size_t> usual;
    for (std::size_t i = 0; i < steps.steps.size(); ++i)
        if (!steps.steps[i].isOutlier)
            usual.push_back(i);
    return usual;
}

} // namespace

Scenario scenarioOfRun(const Recovered& recovered, const Scenario& base, const Catalogue& catalogue,
                       std::vector<UnknownKey>& unknown)
{
    const Layout& layout = base.layout;
    const std::array<std::pair<const char*, int>, 4> sizes{
        {{"tp", layout.tp}, {"cp", layout.cp}, {"pp", layout.pp}, {"dp", layout.dp}}};
    constexpr double kSure = 0.7;
    bool fits = recovered.axes.worldSize == layout.worldSize();
    for (const RecoveredAxis& axis : recovered.axes.axes)
        for (const auto& [name, size] : sizes)
            fits = fits && (axis.name != name || axis.sure < kSure || axis.size == size);
    if (fits) {
        unknown.push_back({"/", "the scenario given has " + std::to_string(layout.worldSize()) +
                                    " ranks as the recording does, and nothing that was recovered contradicts it: it is taken "
                                    "as it is"});
        return base;
    }
    requireKnownGrid(recovered.axes);
    const auto made = scenarioOf(recovered, nlohmann::ordered_json::parse(resolvedText(base)), unknown);
    return resolvedScenario(ScenarioDocument::parse(made.dump()), catalogue);
}

Scenario withMeasured(Scenario scenario, const RunCalibration& calibration)
{
    scenario.cluster.efficiency.profile = calibration.profile;
    if (calibration.interNode)
        scenario.cluster.efficiency.interNode = *calibration.interNode;
    for (const SlowRankOfRun& slow : calibration.slowRanks) {
        const bool isSaid =
            std::any_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                        [&](const Perturbation& of) { return of.kind == PerturbationKind::slowGpu && of.rank == slow.rank; });
        if (!isSaid)
            scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = slow.rank, .factor = slow.factor});
    }
    return scenario;
}

RunCalibration calibrate(const Recording& recording, const Recovered& recovered, const Scenario& scenario)
{
    const std::vector<std::size_t> steps = usualSteps(recovered.steps);
    if (steps.empty())
        throw Error("no step was recovered from the recording: there is nothing to calibrate with");
    const auto simulation = simulate(scenario);
    RunCalibration all = Calibrator(recording, recovered, *simulation, steps).calibrate();
    constexpr double kFar = 3;
    if (const double of = all.predictedSeconds / all.measuredSeconds; of > kFar || of < 1 / kFar)
        all.problems.push_back("the scenario predicts a step of " + numberText(all.predictedSeconds, Unit::seconds) + " where " +
                               numberText(all.measuredSeconds, Unit::seconds) +
                               " were measured: is it of another model, batch or sequence length than the recording?");
    all.calibratedSeconds = simulate(withMeasured(scenario, all))->metrics().stepTimeSeconds;
    constexpr double kUnexplained = 0.8;
    if (all.calibratedSeconds < kUnexplained * all.measuredSeconds) {
        const bool isLaunched = CostModel(withMeasured(scenario, all)).countsLaunches();
        all.problems.push_back(percentText(1 - all.calibratedSeconds / all.measuredSeconds) +
                               " of the measured step is neither kernels nor transfers as they follow from each other" +
                               (isLaunched ? ", nor launches as training.stack has them: hosts that take longer or " : ": ") +
                               "ranks that share a processor, of which a profile says nothing");
    }
    if (const std::size_t learnt = steps.size() / 2; learnt >= 1 && steps.size() >= 4) {
        HeldOut held{.learnt = learnt, .held = steps.size() - learnt};
        std::vector<double> seconds;
        for (std::size_t i = learnt; i < steps.size(); ++i)
            seconds.push_back(recovered.steps.steps[steps[i]].seconds());
        held.measuredSeconds = medianOf(std::move(seconds));
        try {
            const RunCalibration half = Calibrator(recording, recovered, *simulation,
                                                   {steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(learnt)})
                                            .calibrate();
            held.predictedSeconds = simulate(withMeasured(scenario, half))->metrics().stepTimeSeconds;
            all.heldOut = held;
        } catch (const Error& error) {
            all.problems.push_back("the first half of the steps predicts nothing of the others: " + std::string(error.what()));
        }
    }
    return all;
}

} // namespace sim
