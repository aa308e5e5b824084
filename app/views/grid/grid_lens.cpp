#include "app/views/grid/grid_lens.h"

#include "app/step/instant.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/analysis/peers_busy.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace app {
namespace {

using sim::asIndex;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
constexpr double kSmallestDeviation = 0.01; ///< end of the stragglers' ramp at least: noise is not a drama

std::uint8_t ramped(double share)
{
    constexpr double kSteps = GridReading::kFull - GridReading::kLeast;
    return static_cast<std::uint8_t>(GridReading::kLeast + std::lround(std::clamp(share, 0.0, 1.0) * kSteps));
}

std::uint8_t toneOf(sim::OpClass c)
{
    return static_cast<std::uint8_t>(1 + static_cast<int>(c));
}

/// "F3": the class that its letter stands for.
std::optional<sim::OpClass> classOfLabel(const std::string& label)
{
    for (int c = 0; c < sim::kOpClassCount; ++c) {
        const std::string letter = opClassLetter(static_cast<sim::OpClass>(c));
        if (!letter.empty() && label.starts_with(letter))
            return static_cast<sim::OpClass>(c);
    }
    return std::nullopt;
}

class Reader {
public:
    Reader(GridLens lens, const LensSources& sources) : m_sources(sources), m_simulation(sources.simulation)
    {
        m_reading.lens = lens;
        m_reading.instants = sources.instants;
    }

    GridReading read()
    {
        if (m_sources.measured != nullptr && m_reading.lens != GridLens::groups && m_reading.lens != GridLens::now) {
            measured();
            return std::move(m_reading);
        }
        m_reading.isMeasured = m_sources.measured != nullptr;
        switch (m_reading.lens) {
        case GridLens::groups:
            m_reading.tones.assign(classes(), GridReading::kLeast);
            break;
        case GridLens::memory:
            m_sources.live != nullptr ? liveMemory() : peakMemory();
            break;
        case GridLens::busy:
        case GridLens::bubble:
            timeShare();
            break;
        case GridLens::sent:
            m_reading.values = m_sources.use.sentBytes();
            limits();
            m_reading.full = m_reading.most;
            ramp();
            break;
        case GridLens::straggler:
            stragglers();
            break;
        case GridLens::now:
            m_sources.live != nullptr ? liveNow() : now();
            break;
        }
        return std::move(m_reading);
    }

private:
    std::size_t classes() const { return asIndex(m_simulation.classCount()); }

    void limits()
    {
        std::vector<double> known = m_reading.values;
        std::erase_if(known, [](double value) { return std::isnan(value); });
        if (known.empty())
            return;
        const auto [least, most] = std::minmax_element(known.begin(), known.end());
        m_reading.least = *least;
        m_reading.most = *most;
    }

    /// What a recording says. It may be of a part of the ranks, and says nothing of what was sent.
    void measured()
    {
        m_reading.byRank = m_reading.isMeasured = true;
        bool any = false;
        for (const MeasuredRank& rank : *m_sources.measured) {
            double value = std::numeric_limits<double>::quiet_NaN();
            if (m_reading.lens == GridLens::memory && rank.peakBytes)
                value = static_cast<double>(*rank.peakBytes);
            else if (rank.isRecorded && m_reading.lens == GridLens::busy)
                value = rank.busy;
            else if (rank.isRecorded && m_reading.lens == GridLens::bubble)
                value = rank.idle;
            else if (rank.isRecorded && m_reading.lens == GridLens::straggler)
                value = rank.againstPeers;
            any = any || !std::isnan(value);
            m_reading.values.push_back(value);
        }
        if (!any)
            m_reading.missing = m_reading.lens == GridLens::memory ? "this recording holds no memory"
                                : m_reading.lens == GridLens::sent ? "a recording does not say what each rank sends"
                                                                   : "no kernels that compute were recorded";
        limits();
        const bool deviates = m_reading.lens == GridLens::straggler;
        m_reading.full = deviates ? std::max({std::abs(m_reading.least), std::abs(m_reading.most), kSmallestDeviation})
                         : m_reading.lens == GridLens::memory ? m_reading.most
                                                              : 1;
        for (const double value : m_reading.values) {
            const double share = m_reading.full > 0 ? value / m_reading.full : 0;
            m_reading.tones.push_back(std::isnan(value) ? GridReading::kLeast : ramped(deviates ? (share + 1) / 2 : share));
        }
    }

    void ramp()
    {
        for (const double value : m_reading.values)
            m_reading.tones.push_back(ramped(m_reading.full > 0 ? value / m_reading.full : 0));
    }

    void peakMemory()
    {
        for (int c = 0; c < m_simulation.classCount(); ++c)
            m_reading.values.push_back(static_cast<double>(m_simulation.memoryOfClass(c).total()));
        limits();
        m_reading.full = m_simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib;
        ramp();
        for (std::size_t i = 0; i < m_reading.values.size(); ++i)
            if (m_reading.values[i] > m_reading.full)
                m_reading.tones[i] = GridReading::kOver;
    }

    /// Full is what the fullest rank ever held.
    void liveMemory()
    {
        m_reading.byRank = m_reading.isLive = true;
        for (const RankNow& rank : *m_sources.live) {
            m_reading.values.push_back(static_cast<double>(rank.bytes));
            m_reading.didLast.push_back(rank.doing);
            m_reading.full = std::max({m_reading.full, static_cast<double>(rank.peakBytes), static_cast<double>(rank.bytes)});
        }
        limits();
        ramp();
    }

    void timeShare()
    {
        const double step = m_sources.use.stepNs();
        for (const sim::TimeShares& times : m_sources.use.times()) {
            const auto busy = static_cast<double>(times.busyNs), exposed = static_cast<double>(times.waitingNs());
            const double part = m_reading.lens == GridLens::busy ? busy : step - busy - exposed;
            m_reading.values.push_back(step > 0 ? std::max(0.0, part / step) : 0);
        }
        limits();
        m_reading.full = 1;
        ramp();
    }

    /// Against the mean of the other ranks of the same place in the pipeline: those that have the same work.
    void stragglers()
    {
        const auto& times = m_sources.use.times();
        std::vector<sim::PeersBusy> places(asIndex(m_simulation.mesh().pipelineRanks()));
        const auto placeOf = [&](int c) {
            return places.begin() + m_simulation.mesh().coordinates(m_simulation.representative(c)).pp;
        };
        for (int c = 0; c < m_simulation.classCount(); ++c)
            placeOf(c)->add(static_cast<double>(times[asIndex(c)].busyNs), m_simulation.classSize(c));
        for (int c = 0; c < m_simulation.classCount(); ++c)
            m_reading.values.push_back(placeOf(c)->against(static_cast<double>(times[asIndex(c)].busyNs)));
        limits();
        m_reading.full = std::max({std::abs(m_reading.least), std::abs(m_reading.most), kSmallestDeviation});
        for (const double value : m_reading.values)
            m_reading.tones.push_back(ramped((value / m_reading.full + 1) / 2));
    }

    std::uint8_t toneShown(sim::OpClass c) const
    {
        return (m_sources.classes & maskOf(c)) != 0 ? toneOf(c) : GridReading::kAside;
    }

    void now()
    {
        const Instants* instants = m_sources.instants;
        const bool byClass =
            m_sources.measured == nullptr && (instants == nullptr || instants->processes() == m_simulation.classCount());
        m_reading.byRank = !byClass;
        m_reading.isBegin = instants != nullptr && m_sources.cursorNs <= 0;
        m_reading.isOver = instants != nullptr && m_sources.cursorNs >= instants->trace().endNs;
        const auto units = byClass ? classes() : asIndex(m_simulation.mesh().worldSize());
        m_reading.tones.assign(units, GridReading::kWaits);
        m_reading.doing.resize(units);
        m_reading.communicating.resize(units);
        for (std::size_t u = 0; instants != nullptr && u < units; ++u) {
            const int process = byClass ? static_cast<int>(u) : (*m_sources.processOf)[u];
            if (process < 0)
                continue;
            const auto doing = m_reading.doing[u] = instants->action(process, m_sources.cursorNs);
            m_reading.communicating[u] = instants->communication(process, m_sources.cursorNs);
            if (doing)
                m_reading.tones[u] = toneShown(doing->opClass);
        }
    }

    void liveNow()
    {
        m_reading.byRank = m_reading.isLive = true;
        for (const RankNow& rank : *m_sources.live) {
            const auto c = classOfLabel(rank.doing);
            m_reading.tones.push_back(c ? toneShown(*c) : GridReading::kWaits);
            m_reading.didLast.push_back(rank.doing);
        }
    }

    const LensSources& m_sources;
    const sim::Simulation& m_simulation;
    GridReading m_reading;
};

std::string signedPercent(double share)
{
    return (share > 0 ? "+" : share < 0 ? "−" : "") + percentText(std::abs(share));
}

/// Too little to be told from nothing in the number that is written.
bool isNothing(double deviation)
{
    return std::abs(deviation) < 0.0005;
}

} // namespace

const char* gridLensName(GridLens lens)
{
    constexpr std::array<const char*, kGridLensCount> kNames{"Groups", "Memory", "Busy", "Sent", "Bubble", "Stragglers", "Now"};
    return kNames[asIndex(lens)];
}

const char* gridLensMeaning(GridLens lens)
{
    constexpr std::array<const char*, kGridLensCount> kMeanings{
        "Who belongs to whom: the process groups of the rank under the pointer",
        "Bytes a rank holds at its peak, against the GPU's memory",
        "Share of the step in which kernels run; communication that nothing hides is not busy",
        "Bytes that leave a rank in a step, as its collectives and transfers send them",
        "Share of the step in which a rank waits, without kernel or transfer; arrows: who waits for whom at the time cursor",
        "Busy time against the mean of the ranks with the same work",
        "What each rank does at the time cursor"};
    return kMeanings[asIndex(lens)];
}

const std::vector<sim::TimeShares>& StepUse::times()
{
    if (m_times.empty())
        for (int c = 0; c < m_simulation->classCount(); ++c)
            m_times.push_back(m_simulation->timeOfClass(c));
    return m_times;
}

const std::vector<double>& StepUse::sentBytes()
{
    if (m_sentBytes.empty()) {
        const sim::Traffic traffic = sim::Traffic(*m_simulation);
        for (int c = 0; c < m_simulation->classCount(); ++c)
            m_sentBytes.push_back(static_cast<double>(traffic.sentBy(m_simulation->representative(c)).total()));
    }
    return m_sentBytes;
}

std::string GridReading::placeOf(const sim::Simulation& simulation, int rank) const
{
    return known.isKnown() ? coordinatesText(simulation.mesh(), rank, known) : "grid not known";
}

std::size_t GridReading::unitOf(const sim::Simulation& simulation, int rank) const
{
    return asIndex(byRank ? rank : simulation.classOf(rank));
}

std::vector<std::string> GridReading::cellTexts(std::size_t unit) const
{
    if (!values.empty() && std::isnan(values[unit]))
        return missing.empty() ? std::vector<std::string>{"not recorded", "–"} : std::vector<std::string>{};
    switch (lens) {
    case GridLens::groups:
        return {};
    case GridLens::memory:
        return {bytesText(values[unit])};
    case GridLens::sent:
        return {bytesText(values[unit]) + " sent", bytesText(values[unit])};
    case GridLens::busy:
        return {percentText(values[unit]) + " busy", percentText(values[unit])};
    case GridLens::bubble:
        return {percentText(values[unit]) + (isMeasured ? " idle" : " bubble"), percentText(values[unit])};
    case GridLens::straggler:
        return {isNothing(values[unit]) ? "±0" : signedPercent(values[unit])};
    case GridLens::now:
        if (isLive)
            return {didLast[unit]};
        if (doing[unit])
            return {instants->label(doing[unit]->span)};
        if (communicating[unit])
            return {instants->label(communicating[unit]->span), "waits"};
        return {isOver ? "done" : "waits"};
    }
    return {};
}

std::string GridReading::sentence(std::size_t unit) const
{
    if (!values.empty() && std::isnan(values[unit]))
        return missing.empty() ? "not recorded" : missing;
    switch (lens) {
    case GridLens::groups:
        return {};
    case GridLens::memory:
        return bytesText(values[unit]) + (isLive ? " now" : " at peak");
    case GridLens::sent:
        return bytesText(values[unit]) + " sent";
    case GridLens::busy:
        return "busy " + percentText(values[unit]) + " of the step";
    case GridLens::bubble:
        return (isMeasured ? "idle " : "bubble ") + percentText(values[unit]) + " of the step";
    case GridLens::straggler:
        return isNothing(values[unit])
                   ? "as fast as its peers"
                   : percentText(std::abs(values[unit])) + (values[unit] > 0 ? " slower" : " faster") + " than its peers' mean";
    case GridLens::now:
        if (isLive)
            return didLast[unit].empty() ? "nothing yet" : "last " + didLast[unit];
        if (doing[unit])
            return instants->label(doing[unit]->span) + ", " + percentText(doing[unit]->progress) + " done" +
                   (communicating[unit] ? ", " + instants->label(communicating[unit]->span) + " beside it" : "");
        return communicating[unit] ? "waits, " + instants->label(communicating[unit]->span) + " runs"
               : isOver            ? "done: the step is over"
                                   : "waits";
    }
    return {};
}

GridReading readLens(GridLens lens, const LensSources& sources)
{
    return Reader(lens, sources).read();
}

Becauses becauseOfCell(const SimulationPtr& simulation, GridLens lens, int rank)
{
    const auto only = [&](sim::RankNumber number) {
        return Becauses{{"", [=] { return sim::explain(*simulation, number, rank); }}};
    };
    switch (lens) {
    case GridLens::busy:
        return becauseOfTime(simulation, rank);
    case GridLens::bubble:
        return becauseOfTime(simulation, rank, sim::RankNumber::bubble);
    case GridLens::sent:
        return only(sim::RankNumber::sent);
    case GridLens::straggler:
        return only(sim::RankNumber::againstPeers);
    default:
        return becauseOfMemory(simulation, rank);
    }
}

LensColors::LensColors(const Theme& theme, const GridReading& reading, float dim)
{
    for (std::size_t tone = 1; tone <= GridReading::kOver; ++tone) {
        const double share = static_cast<double>(tone - GridReading::kLeast) / (GridReading::kFull - GridReading::kLeast);
        Color full;
        if (reading.lens == GridLens::groups)
            full = mix(theme.canvas, theme.text, theme.dark ? 0.16F : 0.1F);
        else if (reading.lens == GridLens::straggler)
            full = theme.deviationAt(2 * share - 1);
        else if (reading.lens == GridLens::now)
            full = tone < GridReading::kWaits ? theme.opClass[tone - 1] : mix(theme.canvas, theme.text, 0.035F);
        else
            full = tone == GridReading::kOver ? theme.error : theme.heatAt(share);
        fill[tone] = mix(full, theme.canvas, dim);
        constexpr double kReadable = 4.5;
        const bool muted = dim > 0 || (reading.lens == GridLens::now && tone >= GridReading::kWaits);
        text[tone] = muted && contrast(theme.mutedText, fill[tone]) >= kReadable ? theme.mutedText : readableOn(fill[tone]);
    }
}

LensLegend legendOf(const GridReading& reading)
{
    LensLegend legend;
    const auto mark = [&](double value) { legend.marks.push_back(reading.full > 0 ? value / reading.full : 0); };
    if (!reading.missing.empty()) {
        legend.title = reading.missing;
        return legend;
    }
    switch (reading.lens) {
    case GridLens::groups:
        legend.title = "process groups";
        return legend;
    case GridLens::now: {
        std::set<std::uint8_t> tones;
        if (reading.instants != nullptr && !reading.isLive)
            for (const sim::SpanKind& kind : reading.instants->trace().kinds)
                if (opClassLetter(kind.opClass)[0] != '\0')
                    tones.insert(toneOf(kind.opClass));
        for (const std::uint8_t tone : reading.tones)
            if (tone < GridReading::kWaits)
                tones.insert(tone);
        for (const std::uint8_t tone : tones)
            legend.swatches.emplace_back(tone, sim::opClassName(static_cast<sim::OpClass>(tone - 1)));
        legend.swatches.emplace_back(GridReading::kWaits, reading.isOver ? "done" : "waits");
        return legend;
    }
    case GridLens::memory:
        legend.warns = !reading.isLive && !reading.isMeasured && reading.most > reading.full;
        legend.title = reading.isLive ? "memory now" : legend.warns ? "does not fit" : "peak memory";
        legend.high = bytesText(reading.full);
        break;
    case GridLens::sent:
        legend.title = "sent in a step";
        legend.high = bytesText(reading.full);
        break;
    case GridLens::busy:
        legend.title = "busy, of the step";
        legend.high = "100 %";
        break;
    case GridLens::bubble:
        legend.title = reading.isMeasured ? "idle, of the step" : "bubble, of the step";
        legend.high = "100 %";
        break;
    case GridLens::straggler:
        legend.title = isNothing(reading.least) && isNothing(reading.most) ? "all alike" : "against peers";
        legend.shortTitle = "peers";
        legend.low = "−" + percentText(reading.full);
        legend.high = "+" + percentText(reading.full);
        for (const double value : {reading.least, reading.most})
            legend.marks.push_back((value / reading.full + 1) / 2);
        return legend;
    }
    mark(reading.least);
    mark(reading.most);
    return legend;
}

} // namespace app
