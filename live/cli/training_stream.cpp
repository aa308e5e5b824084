#include "live/cli/training_stream.h"

#include "live/cli/say_line.h"
#include "live/comm/processes.h"

#include <chrono>
#include <cstdio>
#include <sstream>
#include <utility>

namespace live::cli {
namespace {

/// Where a process's stream is, and the key of it.
std::string streamKey(int process)
{
    return "stream/" + std::to_string(process);
}

} // namespace

TrainingStream::TrainingStream(const TrainingRequest& request, const LaunchEnvironment& environment, Store* store, Run& run,
                               const std::string& device, Control& control)
    : m_request(request), m_environment(environment), m_store(store), m_run(run), m_control(control)
{
    RunDescription description = describeRun(m_request.scenario, m_run.mesh(), m_request.scenarioJson);
    description.device = device;
    description.plannedSteps = m_request.scenario.live.steps;
    description.slices = m_run.schedule().slices;
    description.controllable = true;
    if (m_store == nullptr) {
        m_collector = std::make_unique<Collector>(std::move(description), m_run.spanKinds(), m_run.recorders());
        publish();
        return;
    }
    description.processId = 0;
    const std::vector<ClockOffset> clocks = alignClocks(*m_store, 0);
    m_clocks = std::make_unique<ClockRounds>(*m_store);
    const KeyPair own = makeKeyPair();
    const std::string here = tcpEndpoint(m_store->address(), 0);
    if (m_environment.process != 0) {
        showToFirst(std::move(description), own, here);
        return;
    }
    m_store->set("stream/viewer", own.publicKey);
    collectFromAll(std::move(description), own, clocks);
}

void TrainingStream::showToFirst(RunDescription description, const KeyPair& own, const std::string& endpoint)
{
    m_collector = std::make_unique<Collector>(std::move(description), m_run.spanKinds(), m_run.recorders());
    PublishOptions options{.endpoint = endpoint, .log = sayLine};
    if (!isLocalEndpoint(endpoint))
        options.keys = ServerKeys{own, {m_store->get("stream/viewer")}};
    m_publisher = std::make_unique<Publisher>(*m_collector, options);
    m_store->set(streamKey(m_environment.process), m_publisher->endpoint() + " " + own.publicKey);
}

void TrainingStream::collectFromAll(RunDescription description, const KeyPair& own, const std::vector<ClockOffset>& clocks)
{
    const int world = m_run.mesh().worldSize();
    std::vector<Recorder*> all(static_cast<std::size_t>(world));
    for (Recorder* recorder : m_run.recorders())
        all[static_cast<std::size_t>(recorder->rank)] = recorder;
    std::vector<SpanSource> sources;
    std::vector<Recorder*> gathered(all.size());
    for (int process = 1; process < m_environment.processes; ++process) {
        std::istringstream answer(m_store->get(streamKey(process)));
        SpanSource source;
        std::string key;
        answer >> source.endpoint >> key;
        if (!isLocalEndpoint(source.endpoint))
            source.keys = ViewerKeys{key, own};
        const ClockOffset& clock = clocks[static_cast<std::size_t>(process)];
        source.offsetAt = [line = m_clockLines.emplace_back(std::make_unique<ClockLine>(clock)).get()](std::int64_t timeNs) {
            return line->offsetAt(timeNs);
        };
        sources.push_back(source);
        const RankRange theirs = ranksOf(process, m_environment.processes, world);
        for (int rank = theirs.first; rank < theirs.first + theirs.count; ++rank) {
            m_remoteRecorders.push_back(std::make_unique<Recorder>(rank));
            gathered[static_cast<std::size_t>(rank)] = all[static_cast<std::size_t>(rank)] = m_remoteRecorders.back().get();
            char clockText[64];
            std::snprintf(clockText, sizeof clockText, ", process %d, clock within %.3f ms", process,
                          static_cast<double>(clock.uncertaintyNs) * 1e-6);
            description.rankNames[static_cast<std::size_t>(rank)] += clockText;
        }
    }
    m_collector = std::make_unique<Collector>(std::move(description), m_run.spanKinds(), all);
    m_gatherer = std::make_unique<SpanGatherer>(sources, m_run.spanKinds(), gathered);
    publish();
}

void TrainingStream::publish()
{
    if (m_request.listen.empty())
        return;
    PublishOptions options{.endpoint = m_request.listen,
                           .control = [this](RunRequest request) { return m_control.request(request); },
                           .log = sayLine};
    if (!m_request.key.empty())
        options.keys = ServerKeys{readKeyPair(m_request.key), readAllowedKeys(m_request.allowed)};
    m_publisher = std::make_unique<Publisher>(*m_collector, options);
    sayLine("listening at " + m_publisher->endpoint());
}

void TrainingStream::compareClocks()
{
    if (m_clocks)
        for (const auto& [process, clock] : m_clocks->next())
            m_clockLines[static_cast<std::size_t>(process) - 1]->add(clock);
}

bool TrainingStream::finish()
{
    return !m_gatherer || m_gatherer->finish(std::chrono::seconds(10));
}

} // namespace live::cli
