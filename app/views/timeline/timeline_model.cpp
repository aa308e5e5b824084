#include "app/views/timeline/timeline_model.h"

#include "app/step/instant.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/mesh/spoken_group.h"
#include "sim/parallel.h"
#include "sim/simulate/action_class.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"
#include "sim/trace/time_use.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace app {
namespace {

constexpr float kOddShade = 0.07F; ///< every second micro-batch

struct FlowEnd {
    std::uint32_t track, span;
};

FlowEnd endOf(const sim::Trace& trace, std::uint32_t code)
{
    const sim::Flow& flow = trace.flows[code / 2];
    return code % 2 == 0 ? FlowEnd{flow.fromTrack, flow.fromSpan} : FlowEnd{flow.toTrack, flow.toSpan};
}

/// `rowOfLink`: whose lane a link lies on.
template <typename Found, typename RowOfLink>
TimelineWait timelineWait(Found found, int row, RowOfLink rowOfLink)
{
    TimelineWait out{.gap = {row, {found.gap.beginNs, found.gap.endNs}}, .links = {}, .found = {}};
    for (const auto& link : found.links)
        out.links.push_back({rowOfLink(link), {link.beginNs, link.endNs}});
    out.found = std::move(found);
    return out;
}

TimelineWait timelineWait(sim::WaitChain found)
{
    const int row = found.gap.classIndex;
    return timelineWait(std::move(found), row, [](const sim::WaitLink& link) { return link.classIndex; });
}

TimelineWait timelineWait(sim::RecordedWait found)
{
    const auto row = static_cast<int>(found.gap.rank);
    return timelineWait(std::move(found), row, [](const sim::RecordedWaitLink& link) { return static_cast<int>(link.rank); });
}

} // namespace

TimelineModel::TimelineModel(const ShownStep& step)
    : m_trace(step.trace), m_simulation(step.simulation), m_classNames(*step.trace, step.simulation.get()),
      m_recordedWaits(step.waits), m_whyNoWaits(step.whyNoWaits)
{
    for (const sim::Track& track : m_trace->tracks) {
        m_busy.push_back(std::make_unique<sim::BusyMipmap>(track, m_trace->kinds));
        m_levels.emplace_back(track, *m_busy.back());
    }
    for (const sim::Counter& counter : m_trace->counters) {
        m_counters.emplace_back(counter);
        m_memoryScale = std::max(m_memoryScale, m_counters.back().peak());
    }
    m_heldByKernel.resize(m_counters.size());
    for (const sim::SpanKind& kind : m_trace->kinds) {
        m_spokenNames.push_back(sim::spokenOp(kind.name));
        m_classOfKind.push_back(static_cast<std::uint8_t>(kind.opClass));
    }
    std::int32_t last = 0;
    for (const sim::Track& track : m_trace->tracks)
        if (track.role == sim::TrackRole::actions)
            for (const std::int32_t microbatch : track.microbatch)
                last = std::max(last, microbatch);
    m_widestMicrobatch = m_trace->microbatchText(last);
    for (char& c : m_widestMicrobatch)
        c = c == '.' ? c : '0';
    findChunks();
    sortFlows();
    makeRows();
    findClasses();
}

/// It takes a fifth of the time from a slider to its picture: on all cores, where there is much of it.
void TimelineModel::findExposed()
{
    constexpr std::int64_t kOpsWorthThreads = 200'000; // starting one takes as long as tens of thousands of ops
    m_exposed.resize(m_rows.size());
    const std::size_t threads = m_simulation && m_simulation->times().opCount() >= kOpsWorthThreads ? 0 : 1;
    sim::forEachInParallel(m_rows.size(), threads, [this](std::size_t row) {
        const int index = static_cast<int>(row);
        if (!m_rows[row].tracks.empty() && isSimulated(index) && !knowsKernels(index))
            m_exposed[row] = std::make_unique<ExposedWaits>(*m_simulation, index, m_trace->tracks[m_rows[row].work]);
    });
}

/// Of what is drawn: a live run names kinds that it never gets to.
void TimelineModel::findClasses()
{
    std::set<sim::OpClass> classes;
    for (const TrackLevels& levels : m_levels)
        for (const std::size_t c : levels.classes())
            classes.insert(static_cast<sim::OpClass>(c));
    findExposed();
    for (const auto& exposed : m_exposed)
        for (std::size_t i = 0; exposed && i < 2; ++i)
            for (const std::uint32_t kind : (i == 0 ? exposed->inside() : exposed->between()).kind)
                classes.insert(static_cast<sim::OpClass>(kind));
    m_classes.assign(classes.begin(), classes.end());
}

TimelineModel::HeldByKernel::HeldByKernel(const sim::MemoryCurves& curves)
    : counter([&] {
          sim::Counter sum{.timeNs = curves.timeNs};
          for (std::size_t i = 0; i < curves.size(); ++i)
              sum.value.push_back(curves.at(i).total());
          return sum;
      }()),
      levels(counter)
{
}

/// A trace of actions knows of each pass only where it begins and ends, which is not when it holds most.
const CounterLevels& TimelineModel::counter(std::size_t index) const
{
    const int process = m_trace->counters[index].process;
    if (!isSimulated(process) || knowsKernels(process))
        return m_counters[index];
    auto& held = m_heldByKernel[index];
    if (!held)
        held = std::make_unique<HeldByKernel>(m_simulation->memoryCurves(process));
    return held->levels;
}

/// Process i of a simulated trace is class i. Of a measured trace, beside which a prediction stands, nothing is simulated.
bool TimelineModel::isSimulated(int process) const
{
    return m_simulation && std::llround(m_simulation->metrics().stepTimeSeconds * 1e9) == m_trace->endNs &&
           process < m_simulation->classCount();
}

/// Dealt to their tracks first: sorting millions at once takes ten times as long.
void TimelineModel::sortFlows()
{
    const auto ends = static_cast<std::uint32_t>(m_trace->flows.size() * 2);
    std::vector<std::size_t> first(m_trace->tracks.size() + 1, 0);
    for (std::uint32_t code = 0; code < ends; ++code)
        ++first[endOf(*m_trace, code).track + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    m_flowsBySpan.resize(ends);
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t code = 0; code < ends; ++code)
        m_flowsBySpan[next[endOf(*m_trace, code).track]++] = code;
    for (std::size_t track = 0; track + 1 < first.size(); ++track)
        std::sort(m_flowsBySpan.begin() + static_cast<std::ptrdiff_t>(first[track]),
                  m_flowsBySpan.begin() + static_cast<std::ptrdiff_t>(first[track + 1]),
                  [this](std::uint32_t a, std::uint32_t b) {
                      const std::uint32_t x = endOf(*m_trace, a).span, y = endOf(*m_trace, b).span;
                      return x != y ? x < y : a < b;
                  });
}

/// Stages of a rank in model order are its chunks. Known from the schedule; without one, from the actions on each row.
void TimelineModel::findChunks()
{
    std::map<int, int> chunkOfStage;
    if (m_simulation) {
        const sim::Schedule& schedule = m_simulation->schedule();
        for (int rank = 0; rank < schedule.ranks; ++rank) {
            const std::vector<int> stages = schedule.stagesOfRank(rank);
            for (std::size_t i = 0; i < stages.size(); ++i)
                chunkOfStage[stages[i]] = static_cast<int>(i);
        }
    }
    for (const sim::SpanKind& kind : m_trace->kinds) {
        const auto found = chunkOfStage.find(kind.stage);
        m_chunkOfKind.push_back(found == chunkOfStage.end() ? 0 : found->second);
        m_chunks = std::max(m_chunks, m_chunkOfKind.back() + 1);
    }
}

void TimelineModel::makeRows()
{
    m_rows.resize(m_trace->processes.size());
    for (std::uint32_t t = 0; t < m_trace->tracks.size(); ++t)
        m_rows[static_cast<std::size_t>(m_trace->tracks[t].process)].tracks.push_back(t);
    for (std::size_t c = 0; c < m_trace->counters.size(); ++c)
        if (auto& row = m_rows[static_cast<std::size_t>(m_trace->counters[c].process)]; !row.memory)
            row.memory = c;
    if (m_simulation && m_simulation->mesh().pipelineRanks() > 1) { // counted once, not by each row
        m_rowsOfPipelineRank.assign(static_cast<std::size_t>(m_simulation->mesh().pipelineRanks()), 0);
        for (int row = 0; row < static_cast<int>(m_rows.size()); ++row)
            ++m_rowsOfPipelineRank[static_cast<std::size_t>(pipelineRankOf(row))];
    }
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        auto& tracks = m_rows[i].tracks;
        const auto thin = std::stable_partition(tracks.begin(), tracks.end(), [this](std::uint32_t t) {
            return m_trace->tracks[t].role != sim::TrackRole::communication;
        });
        m_rows[i].thinLanes = thin == tracks.begin() ? 0 : static_cast<int>(tracks.end() - thin);
        m_allRows.push_back(static_cast<int>(i));
        measureRow(m_rows[i], static_cast<int>(i));
        nameRow(m_rows[i], static_cast<int>(i));
    }
}

void TimelineModel::measureRow(TimelineRow& row, int index) const
{
    for (const std::uint32_t t : row.tracks)
        if (const sim::Track& track = m_trace->tracks[t]; track.size() > 0)
            row.endNs = std::max(row.endNs, track.startNs.back() + track.durationNs.back());
    if (row.tracks.empty() || m_trace->endNs <= 0)
        return;
    const auto kernels = std::find_if(row.tracks.begin(), row.tracks.end(),
                                      [this](std::uint32_t t) { return m_trace->tracks[t].role == sim::TrackRole::compute; });
    row.work = kernels != row.tracks.end() ? *kernels : row.tracks.front();
    const auto length = static_cast<double>(m_trace->endNs);
    if (isSimulated(index)) {
        const sim::TimeShares times = m_simulation->timeOfClass(index);
        row.busyShare = static_cast<double>(times.busyNs) / length;
        row.exposedShare = static_cast<double>(times.waitingNs()) / length;
        return;
    }
    const std::int64_t said = m_trace->processes[static_cast<std::size_t>(index)].computingNs;
    if (const std::int64_t computes = said >= 0 ? said : sim::computingNs(*m_trace, index, m_trace->endNs); computes >= 0) {
        row.busyShare = static_cast<double>(computes) / length;
        return;
    }
    const sim::BusyByClass busy = m_busy[row.work]->busyNs(0, m_trace->endNs);
    for (std::size_t c = 0; c < busy.size(); ++c)
        if (!sim::isCommunication(static_cast<sim::OpClass>(c)) &&
            !(othersWait() && static_cast<sim::OpClass>(c) == sim::OpClass::other))
            row.busyShare += static_cast<double>(busy[c]) / length;
}

bool TimelineModel::knowsKernels(int row) const
{
    const TimelineRow& of = m_rows[static_cast<std::size_t>(row)];
    return !of.tracks.empty() && m_trace->tracks[of.work].role != sim::TrackRole::actions;
}

std::optional<TimelineWait> TimelineModel::longestWaitIn(const std::vector<int>& rows, std::int64_t fromNs,
                                                         std::int64_t toNs) const
{
    std::optional<sim::Gap> simulated;
    std::optional<sim::RecordedWait> recorded;
    for (const int row : rows) {
        if (isSimulated(row)) {
            if (const auto gap = simulatedWaits().longestGapIn(row, fromNs, toNs);
                gap && (!simulated || gap->lengthNs() > simulated->lengthNs()))
                simulated = gap;
        } else if (m_recordedWaits) {
            if (auto wait = m_recordedWaits->longestIn(static_cast<std::uint32_t>(row), fromNs, toNs);
                wait && (!recorded || wait->gap.lengthNs() > recorded->gap.lengthNs()))
                recorded = std::move(wait);
        }
    }
    if (simulated)
        return timelineWait(m_waits->chain(*simulated));
    return recorded ? std::optional(timelineWait(std::move(*recorded))) : std::nullopt;
}

std::optional<TimelineWait> TimelineModel::waitBeside(int row, std::int64_t ns, bool backwards, std::int64_t leastNs) const
{
    if (isSimulated(row)) {
        sim::WaitChains& waits = simulatedWaits();
        const auto gap = backwards ? waits.lastGapUntil(row, ns, leastNs) : waits.firstGapFrom(row, ns, leastNs);
        return gap ? std::optional(timelineWait(waits.chain(*gap))) : std::nullopt;
    }
    if (!m_recordedWaits)
        return std::nullopt;
    const auto rank = static_cast<std::uint32_t>(row);
    auto wait = backwards ? m_recordedWaits->lastUntil(rank, ns, leastNs) : m_recordedWaits->firstFrom(rank, ns, leastNs);
    return wait ? std::optional(timelineWait(std::move(*wait))) : std::nullopt;
}

/// What kept a row from computing just before a time, as far as it lies in a stretch.
std::optional<sim::WaitChain> TimelineModel::chainBefore(int row, std::int64_t fromNs, std::int64_t beginsNs) const
{
    if (!isSimulated(row) || beginsNs < 1)
        return std::nullopt;
    sim::WaitChains& waits = simulatedWaits();
    const auto gap = waits.gapAt(row, beginsNs - 1);
    return gap ? std::optional(sim::WaitChains::within(waits.chain(*gap), fromNs, beginsNs)) : std::nullopt;
}

std::string TimelineModel::awaitedText(int row, std::int64_t fromNs, std::int64_t beginsNs) const
{
    const auto chain = chainBefore(row, fromNs, beginsNs);
    return chain ? simulatedWaits().mostText(*chain) : std::string();
}

std::optional<std::int64_t> TimelineModel::inputThereNs(int row, std::int64_t fromNs, std::int64_t beginsNs) const
{
    using Kind = sim::WaitLink::Kind;
    if (const auto chain = chainBefore(row, fromNs, beginsNs))
        for (const sim::WaitLink& link : chain->links) // from the end back
            if (link.kind == Kind::pass || link.kind == Kind::message)
                return link.endNs;
    return std::nullopt;
}

sim::WaitChains& TimelineModel::simulatedWaits() const
{
    if (!m_waits)
        m_waits = std::make_unique<sim::WaitChains>(*m_simulation);
    return *m_waits;
}

std::string TimelineModel::waitText(const TimelineWait& wait) const
{
    const auto* simulated = std::get_if<sim::WaitChain>(&wait.found);
    std::string text;
    for (const std::string& line :
         simulated != nullptr ? m_waits->lines(*simulated) : m_recordedWaits->lines(std::get<sim::RecordedWait>(wait.found)))
        text += (text.empty() ? "" : "\n") + line;
    return text;
}

std::string TimelineModel::whyNoWait(int row) const
{
    if (isSimulated(row))
        return {};
    return m_recordedWaits ? m_recordedWaits->whyNone(static_cast<std::uint32_t>(row)) : m_whyNoWaits;
}

/// -1 without a pipeline, and where nobody knows.
int TimelineModel::pipelineRankOf(int row) const
{
    const int rank = m_trace->processes[static_cast<std::size_t>(row)].rank;
    if (m_simulation)
        return m_simulation->mesh().pipelineRanks() > 1 ? m_simulation->mesh().coordinates(rank).pp : -1;
    const auto axis =
        std::find_if(m_trace->axes.begin(), m_trace->axes.end(), [](const sim::TraceAxis& of) { return of.name == "pp"; });
    return axis == m_trace->axes.end() || axis->size < 2 ? -1 : rank / axis->stride % axis->size;
}

void TimelineModel::nameRow(TimelineRow& row, int index) const
{
    const sim::Process& process = m_trace->processes[static_cast<std::size_t>(index)];
    const std::string rank = "rank " + countText(process.rank);
    const std::string others = countText(process.multiplicity - 1);      // that do as it does
    const std::string many = countText(process.multiplicity) + " ranks"; // however short, never called by one of them alone
    if (m_simulation && m_simulation->mesh().pipelineRanks() > 1) {
        const int pp = pipelineRankOf(index);
        const bool alone = m_rowsOfPipelineRank[static_cast<std::size_t>(pp)] == 1;
        const std::string stage = "pp " + std::to_string(pp);
        if (process.multiplicity == 1)
            row.names = {rank + " · " + stage, rank + " · " + stage, rank, countText(process.rank)}; // as many as of several
        else if (alone)
            row.names = {stage + " · " + many, stage};
        else
            row.names = {rank + " and " + others + " like it · " + stage, rank + " +" + others + " · " + stage,
                         rank + " +" + others, countText(process.rank) + " +" + others};
    } else if (process.multiplicity == 1) {
        row.names = {m_simulation || process.name.empty() ? rank : process.name, rank, countText(process.rank)};
    } else if (m_trace->processes.size() == 1) {
        const std::string all = process.multiplicity == 2 ? "both" : "all";
        row.names = {all + " " + (process.multiplicity == 2 ? "ranks" : many), many, all};
    } else {
        row.names = {rank + " and " + others + " like it", rank + " +" + others, countText(process.rank) + " +" + others};
    }
    if (row.tracks.empty() || m_trace->endNs <= 0)
        return;
    const std::string share = percentText(row.busyShare) + " busy";
    const std::string memory = row.memory ? bytesText(static_cast<double>(m_counters[*row.memory].peak())) : std::string();
    constexpr double kWorthTelling = 0.0005;
    std::string shares = share; // what is told sums to the step
    if (row.exposedShare && *row.exposedShare >= kWorthTelling)
        shares += " · " + percentText(*row.exposedShare) + " exposed";
    if (row.exposedShare && row.bubbleShare() >= kWorthTelling)
        shares += " · " + percentText(row.bubbleShare()) + " bubble";
    if (shares != share && row.memory)
        row.details.push_back(shares + " · " + memory);
    if (shares != share)
        row.details.push_back(shares);
    if (row.memory)
        row.details.push_back(share + " · " + memory);
    row.details.push_back(share);
    if (row.memory) {
        row.details.push_back(memory);
        row.details.push_back(wholeBytesText(static_cast<double>(m_counters[*row.memory].peak())));
    }
}

int TimelineModel::rowOfRank(int rank) const
{
    if (rank < 0)
        return -1;
    if (m_simulation) {
        // Process i of a simulated trace is class i.
        if (rank >= m_simulation->mesh().worldSize())
            return -1;
        const int row = m_simulation->classOf(rank);
        return row < static_cast<int>(m_rows.size()) ? row : -1;
    }
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (m_trace->processes[i].rank == rank)
            return static_cast<int>(i);
    return -1;
}

int TimelineModel::rankOf(int row, const Selection& selection) const
{
    if (selection.selectedRank && rowOfRank(*selection.selectedRank) == row)
        return *selection.selectedRank;
    return m_trace->processes[static_cast<std::size_t>(row)].rank;
}

sim::OpClass TimelineModel::opClass(std::uint32_t track, std::size_t span) const
{
    return m_trace->kinds[m_trace->tracks[track].kind[span]].opClass;
}

bool TimelineModel::computes(SpanRef ref) const
{
    const std::size_t kind = m_trace->tracks[ref.track].kind[ref.span];
    return !sim::isCommunication(m_trace->kinds[kind].opClass) && !m_trace->kinds[kind].name.starts_with("wait ");
}

std::int64_t TimelineModel::endNs(SpanRef ref) const
{
    const sim::Track& track = m_trace->tracks[ref.track];
    return track.startNs[ref.span] + track.durationNs[ref.span];
}

std::array<double, sim::kOpClassCount> TimelineModel::shares(std::int64_t beginNs, std::int64_t endNs) const
{
    return shares(m_allRows, std::array{beginNs, endNs}).front();
}

std::vector<std::array<double, sim::kOpClassCount>> TimelineModel::shares(const std::vector<int>& rows,
                                                                          std::span<const std::int64_t> edgesNs) const
{
    std::vector<std::array<double, sim::kOpClassCount>> sums(edgesNs.size() - 1);
    std::vector<sim::BusyByClass> busy(sums.size());
    double ranks = 0;
    for (const int row : rows) {
        const auto i = static_cast<std::size_t>(row);
        if (m_rows[i].tracks.empty())
            continue;
        const double weight = m_trace->processes[i].multiplicity;
        const std::uint32_t track = m_rows[i].work;
        m_busy[track]->columns(edgesNs, busy);
        for (std::size_t s = 0; s < sums.size(); ++s)
            for (const std::size_t c : m_levels[track].classes())
                sums[s][c] += weight * static_cast<double>(busy[s][c]);
        if (const ExposedWaits* waits = exposed(row); waits && waits->between().size() > 0) {
            waits->busyBetween().columns(edgesNs, busy);
            for (std::size_t s = 0; s < sums.size(); ++s)
                for (std::size_t c = 0; c < sums[s].size(); ++c)
                    sums[s][c] += weight * static_cast<double>(busy[s][c]);
        }
        ranks += weight;
    }
    for (std::size_t s = 0; s < sums.size(); ++s)
        if (const double whole = ranks * static_cast<double>(edgesNs[s + 1] - edgesNs[s]); whole > 0)
            for (double& share : sums[s])
                share /= whole;
    return sums;
}

std::vector<std::string> TimelineModel::spanLabels(std::uint32_t trackIndex, std::size_t span) const
{
    const sim::Track& track = m_trace->tracks[trackIndex];
    const sim::SpanKind& kind = m_trace->kinds[track.kind[span]];
    const std::string letter = opClassLetter(kind.opClass);
    const std::string& name = kindName(track.kind[span]);
    if (track.role == sim::TrackRole::actions && !letter.empty()) {
        if (track.microbatch[span] < 0)
            return {name, letter};
        const std::string action = sim::spanName(*m_trace, trackIndex, span);
        return m_chunks > 1 ? std::vector{sim::spanName(*m_trace, trackIndex, span, true), action} : std::vector{action};
    }
    std::vector<std::string> labels;
    if (kind.layer >= 0)
        labels.push_back(name + " · layer " + std::to_string(kind.layer));
    labels.push_back(name);
    return labels;
}

std::string TimelineModel::nameBeside(SpanRef ref, int row) const
{
    const std::string name = sim::spanName(*m_trace, ref.track, ref.span, m_chunks > 1);
    const int own = rowOf(ref.track);
    return own == row || m_rows.size() == 1 ? name : name + " of " + placeOf(own);
}

/// Whose a row is: "pp 1", where others have that, too, "pp 1 (rank 5)"; without a pipeline "rank 5".
std::string TimelineModel::placeOf(int row) const
{
    const std::string rank = "rank " + countText(m_trace->processes[static_cast<std::size_t>(row)].rank);
    const int pp = pipelineRankOf(row);
    if (pp < 0)
        return rank;
    const auto isThere = [&](int other) { return pipelineRankOf(other) == pp; };
    const bool isAlone = std::count_if(m_allRows.begin(), m_allRows.end(), isThere) == 1;
    return "pp " + std::to_string(pp) + (isAlone ? "" : " (" + rank + ")");
}

std::string TimelineModel::describe(SpanRef ref) const
{
    const sim::Track& track = m_trace->tracks[ref.track];
    const sim::SpanKind& kind = m_trace->kinds[track.kind[ref.span]];
    const auto duration = static_cast<double>(track.durationNs[ref.span]);
    std::string text = kindName(track.kind[ref.span]);
    const std::string letter = opClassLetter(kind.opClass);
    if (track.role == sim::TrackRole::actions && !letter.empty())
        text = spanLabels(ref.track, ref.span).back() + ", " + className(kind.opClass);
    if (const auto& row = m_rows[static_cast<std::size_t>(track.process)]; !row.names.empty())
        text += "\n" + row.names.front();
    std::string where;
    const auto add = [&where](const std::string& part) { where += (where.empty() ? "" : " · ") + part; };
    if (track.microbatch[ref.span] >= 0)
        add("micro-batch " + m_trace->microbatchText(track.microbatch[ref.span]));
    if (kind.stage >= 0)
        add("stage " + std::to_string(kind.stage));
    if (kind.layer >= 0)
        add("layer " + std::to_string(kind.layer));
    if (!kind.group.empty())
        add("group " +
            (m_simulation ? sim::spokenGroup(kind.group, m_simulation->scenario().layout) : sim::spokenGroup(kind.group)));
    if (!where.empty())
        text += "\n" + where;
    text += "\n" + durationText(duration) + ", from " + durationText(static_cast<double>(track.startNs[ref.span]));
    if (kind.bytes > 0) {
        text += "\n" + bytesText(static_cast<double>(kind.bytes));
        if (duration > 0)
            text += " at " + sim::numberText(static_cast<double>(kind.bytes) / duration * 1e9, sim::Unit::byteRate);
    }
    if (kind.flops > 0) {
        text += "\n" + sim::numberText(kind.flops, sim::Unit::flops);
        if (duration > 0)
            text += " at " + sim::numberText(kind.flops / duration * 1e9, sim::Unit::flopRate);
    }
    return text;
}

std::vector<sim::Flow> TimelineModel::flowsAt(SpanRef ref) const
{
    const auto before = [this](std::uint32_t code, const SpanRef& wanted) {
        const FlowEnd end = endOf(*m_trace, code);
        return end.track != wanted.track ? end.track < wanted.track : end.span < wanted.span;
    };
    std::vector<sim::Flow> flows;
    for (auto i = std::lower_bound(m_flowsBySpan.begin(), m_flowsBySpan.end(), ref, before); i != m_flowsBySpan.end(); ++i) {
        const FlowEnd end = endOf(*m_trace, *i);
        if (end.track != ref.track || end.span != ref.span)
            break;
        flows.push_back(m_trace->flows[*i / 2]);
    }
    return flows;
}

std::optional<std::uint32_t> TimelineModel::spanAt(std::uint32_t trackIndex, double timeNs, double toleranceNs) const
{
    const sim::Track& track = m_trace->tracks[trackIndex];
    const auto after = std::upper_bound(track.startNs.begin(), track.startNs.end(), timeNs,
                                        [](double time, std::int64_t start) { return time < static_cast<double>(start); }) -
                       track.startNs.begin();
    const auto distance = [&](std::size_t i) {
        const auto start = static_cast<double>(track.startNs[i]), end = start + static_cast<double>(track.durationNs[i]);
        return std::max({start - timeNs, timeNs - end, 0.0});
    };
    std::optional<std::uint32_t> best;
    double bestDistance = toleranceNs;
    for (const auto i : {after - 1, after})
        if (i >= 0 && i < static_cast<std::ptrdiff_t>(track.size()))
            if (const double d = distance(static_cast<std::size_t>(i)); d < bestDistance || (d == 0 && !best)) {
                best = static_cast<std::uint32_t>(i);
                bestDistance = d;
            }
    return best;
}

SpanBands TimelineModel::bands() const
{
    const bool isOfDirections = m_chunks > 1 && m_simulation && m_simulation->scenario().modelCopies() > 1;
    return {.chunks = isOfDirections ? 1 : m_chunks, .otherDirection = isOfDirections};
}

std::vector<KindColors> TimelineModel::colors(const Theme& theme) const
{
    std::vector<KindColors> out;
    for (std::size_t k = 0; k < m_trace->kinds.size(); ++k) {
        const sim::OpClass opClass = m_trace->kinds[k].opClass;
        const Color text = theme.label(opClass);
        // Away from the label's colour, so that it reads the better the further a shade is.
        const Color away = luminance(text) > 0.5 ? Color::rgb(0x000000) : Color::rgb(0xFFFFFF);
        const Color even = theme.fill(opClass);
        out.push_back({even, mix(even, away, kOddShade), text});
    }
    return out;
}

} // namespace app
