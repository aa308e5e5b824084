#include "live/kernels/cuda/launch_batches.h"

#include "live/kernels/cuda/mark_log.h"
#include "live/kernels/cuda/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace live::cuda {
namespace {

// Steps of a trial: kernels are loaded and products planned in the first ones; the first with batches shows what they are, the
// second makes graphs of them, the third starts those for the first time.
constexpr int kWarm = 3, kTimed = 3, kTrial = 2 * (kWarm + kTimed);
/// Batches have to be that much faster than none.
constexpr double kWorthIt = 0.97;
/// Places kept: a step of more batches than these keeps a GPU busy.
constexpr std::size_t kMostPlaces = 256;
/// A single launch costs no more than a graph of one.
constexpr std::size_t kFewest = 2;

} // namespace

BatchRule batchesWanted()
{
    const std::string_view graphs = said("RANKSCOPE_CUDA_GRAPHS");
    BatchRule rule{.use = graphs.empty()  ? BatchRule::Use::byTime
                          : graphs == "0" ? BatchRule::Use::never
                                          : BatchRule::Use::always,
                   .reports = isOn("RANKSCOPE_CUDA_GRAPHS_REPORT")};
    if (const long launches = std::strtol(graphs.data(), nullptr, 10); launches > 1)
        rule.launches = static_cast<std::size_t>(launches);
    return rule;
}

LaunchCounts LaunchCounts::operator-(const LaunchCounts& o) const
{
    return {apart - o.apart,       oneByOne - o.oneByOne, captured - o.captured,
            replayed - o.replayed, batches - o.batches,   graphs - o.graphs};
}

LaunchBatches::~LaunchBatches()
{
    if (m_rule.reports)
        report();
    for (const Place& place : m_places) {
        destroyGraph(place.graph);
        for (Event event : place.events)
            destroyEvent(event);
    }
}

bool LaunchBatches::start(Stream stream, MarkLog& marks)
{
    m_isOpen = false;
    if (m_tape.isEmpty())
        return false;
    ++m_counts.batches;
    // What fails is not tried again with the next batch.
    const LaunchTape& tape = m_tape;
    struct Cleared {
        LaunchTape& tape;
        ~Cleared() { tape.clear(); }
    } const cleared{m_tape};
    if (tape.launches() < kFewest || m_position >= kMostPlaces) {
        m_counts.oneByOne += tape.launches();
        startOneByOne(tape, stream, marks);
        return true;
    }
    if (m_position >= m_places.size())
        m_places.emplace_back();
    startAt(m_places[m_position++], stream, marks);
    return true;
}

void LaunchBatches::startAt(Place& place, Stream stream, MarkLog& marks)
{
    const bool isSame = place.tape.isSameAs(m_tape);
    if (!isSame)
        destroyGraph(std::exchange(place.graph, nullptr));
    std::swap(place.tape, m_tape);
    const bool isNew = !place.graph && (isSame || m_rule.capturesAll);
    if (isNew)
        capture(place, stream);
    if (!place.graph) {
        m_counts.oneByOne += place.tape.launches();
        startOneByOne(place.tape, stream, marks);
        return;
    }
    (isNew ? m_counts.captured : m_counts.replayed) += place.tape.launches();
    ++m_counts.graphs;
    marks.awaitRun(place.run); // its events are about to be recorded again
    startGraph(place.graph, stream);
    place.run = marks.graphStarted(place.tape.marks(), place.events, stream);
}

void LaunchBatches::capture(Place& place, Stream stream)
{
    while (place.events.size() < place.tape.marks().size())
        place.events.push_back(createEvent(true));
    place.graph = captureGraph(
        stream, [&] { place.tape.run(stream, [&](std::size_t mark) { recordEventInGraph(place.events[mark], stream); }); });
}

void LaunchBatches::startOneByOne(const LaunchTape& tape, Stream stream, MarkLog& marks)
{
    tape.run(stream, [&](std::size_t mark) { marks.putPromised(tape.marks()[mark], stream); });
}

void LaunchBatches::stepDone(std::chrono::steady_clock::time_point now)
{
    m_position = 0;
    m_lastStep = m_counts - std::exchange(m_before, m_counts);
    if (m_rule.use != BatchRule::Use::byTime || m_steps >= kTrial)
        return;
    const double seconds = std::chrono::duration<double>(now - m_stepStart).count(); // of the first step: from nowhere
    m_stepStart = now;
    if (m_steps++ % (kWarm + kTimed) >= kWarm) {
        double& best = m_best[m_isUsed ? 1 : 0];
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    m_isUsed = m_steps < kTrial ? m_steps >= kWarm + kTimed : m_best[1] < kWorthIt * m_best[0];
    if (m_steps == kTrial && !m_isUsed)
        for (Place& place : m_places)
            destroyGraph(std::exchange(place.graph, nullptr));
}

void LaunchBatches::report() const
{
    const auto line = [](const char* when, const LaunchCounts& counts) {
        std::fprintf(stderr,
                     "%s: %llu launches replayed, %llu captured, %llu put aside and made one by one, %llu operations apart; "
                     "%llu batches, %llu of them as graphs\n",
                     when, static_cast<unsigned long long>(counts.replayed), static_cast<unsigned long long>(counts.captured),
                     static_cast<unsigned long long>(counts.oneByOne), static_cast<unsigned long long>(counts.apart),
                     static_cast<unsigned long long>(counts.batches), static_cast<unsigned long long>(counts.graphs));
    };
    line("Steps with batches of launches", m_counts);
    line("The last step", m_lastStep);
    if (m_rule.use == BatchRule::Use::byTime)
        std::fprintf(stderr, "Batches are %s: at best %.3f ms a step without, %.3f with\n", m_isUsed ? "used" : "not used",
                     1e3 * m_best[0], 1e3 * m_best[1]);
}

} // namespace live::cuda
