#include "live/stream/ingest.h"

#include "live/stream/attached_run.h"
#include "live/stream/door.h"
#include "live/stream/open_files.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace live {
namespace {

using IngestClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTicks{20};

DoorOptions ingestDoor(const IngestOptions& options)
{
    return {.endpoint = options.endpoint,
            .keys = options.keys,
            .who = "process",
            .messageBytes = kRankBudget.frameBytes,
            .unfinishedBytes = kRankBudget.unfinishedBytes,
            .receiveQueue = kRankBudget.receiveQueue,
            .sendQueue = kRankBudget.sendQueue,
            .mostConnections = static_cast<std::size_t>(kRankBudget.ranks) + kRankBudget.spareConnections,
            .hello = kRankBudget.hello,
            .linger = std::chrono::milliseconds(200),
            .betweenLogs = kRankBudget.betweenLogs,
            .log = options.log};
}

AttachedRunOptions attachedOptions(const IngestOptions& options)
{
    return {.name = options.name,
            .scenarioJson = options.scenarioJson,
            .scenarioRanks = options.scenarioRanks,
            .slices = options.slices,
            .profile = options.profile,
            .settleNs = std::chrono::nanoseconds(options.settle).count(),
            .gatherNs = std::chrono::nanoseconds(options.gather).count(),
            .patienceNs = std::chrono::nanoseconds(options.patience).count()};
}

} // namespace

class Ingest::Server {
public:
    Server(Collector& collector, SpanKinds& kinds, const IngestOptions& options)
        : m_options(options), m_door(ingestDoor(options)), m_run(collector, kinds, attachedOptions(options))
    {
        m_thread = std::thread([this] { serve(); });
    }
    ~Server() { stop(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    const std::string& endpoint() const { return m_door.endpoint(); }
    IngestCounts counts() const
    {
        const std::lock_guard lock(m_mutex);
        return {.worldSize = m_run.worldSize(),
                .present = m_run.present(),
                .messages = m_messages,
                .ignored = m_run.ignored(),
                .refusedKeys = m_door.refusedKeys(),
                .cutConnections = m_cut};
    }
    template <class Ask>
    auto ask(Ask question) const
    {
        const std::lock_guard lock(m_mutex);
        return question(m_run);
    }
    void stop()
    {
        m_stop = true;
        if (!m_thread.joinable())
            return;
        m_thread.join();
        const std::lock_guard lock(m_mutex);
        m_run.finish();
    }

private:
    void serve()
    {
        try {
            auto nextTick = IngestClock::now(), lastRound = nextTick;
            while (!m_stop) {
                const auto now = IngestClock::now();
                const bool wasAway = now - std::exchange(lastRound, now) > kRankBudget.silence / 2;
                m_door.wait(std::clamp(std::chrono::ceil<std::chrono::milliseconds>(nextTick - now), std::chrono::milliseconds(0),
                                       kBetweenTicks));
                const std::lock_guard lock(m_mutex);
                if (wasAway) {
                    m_run.wasAway(nowNs());
                    m_door.wasAway(now);
                }
                receiveAll();
                lookAtFiles();
                for (const std::string& peer : m_door.takeGone())
                    m_run.connectionEnded(peer, nowNs());
                m_cut += m_door.check([this](const std::string& peer) { return m_run.contains(peer); }, m_cut);
                if (IngestClock::now() >= nextTick) {
                    m_run.tick(nowNs());
                    nextTick = IngestClock::now() + kBetweenTicks;
                }
            }
        } catch (const std::exception& error) {
            if (m_options.log)
                m_options.log(std::string("spans are taken no more: ") + error.what());
        }
    }

    void receiveAll()
    {
        // Bounded, so that a flood of messages cannot keep the run from its ticks.
        constexpr int kMostMessages = 1000;
        std::string peer;
        std::vector<zmq::message_t> frames;
        for (int i = 0; i < kMostMessages && m_door.receive(peer, frames); ++i) {
            std::vector<std::string_view> parts(frames.size());
            std::transform(frames.begin(), frames.end(), parts.begin(), [](const auto& frame) { return frame.to_string_view(); });
            AttachedRun::Answer answer = m_run.receive(peer, parts, nowNs());
            ++m_messages;
            if (answer.message) {
                const std::string text = answer.message->dump(-1, ' ', false, Json::error_handler_t::replace);
                std::vector<zmq::message_t> message;
                message.emplace_back(text.data(), text.size());
                m_door.send(peer, std::move(message));
            }
            if (!answer.why.empty())
                logRefusal(answer.why);
        }
    }

    /// Who finds no file left is not refused: its connection waits, and nobody hears of it. Said as soon as it is known how many
    /// will come.
    void lookAtFiles()
    {
        if (m_run.worldSize() == std::exchange(m_ranksLookedAt, m_run.worldSize()) || !m_options.log)
            return;
        if (const std::string why = whyTooFewFilesForRanks(m_run.worldSize(), static_cast<std::int64_t>(m_door.connections()));
            !why.empty())
            m_options.log("warning: " + why);
    }

    /// One that comes again and again fills no log.
    void logRefusal(const std::string& why)
    {
        const auto now = IngestClock::now();
        if (m_options.log && now - std::exchange(m_logged, now) > kRankBudget.betweenLogs)
            m_options.log("a process was refused: " + why);
    }

    const IngestOptions m_options;
    Door m_door;
    mutable std::mutex m_mutex; ///< the run, the counts
    AttachedRun m_run;
    std::uint64_t m_messages = 0, m_cut = 0;
    int m_ranksLookedAt = 0;
    IngestClock::time_point m_logged;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

Ingest::Ingest(Collector& collector, SpanKinds& kinds, const IngestOptions& options)
    : m_server(std::make_unique<Server>(collector, kinds, options))
{
}

Ingest::~Ingest() = default;

const std::string& Ingest::endpoint() const
{
    return m_server->endpoint();
}

IngestCounts Ingest::counts() const
{
    return m_server->counts();
}

bool Ingest::isOver() const
{
    return m_server->ask([](const AttachedRun& run) { return run.isOver(nowNs()); });
}

bool Ingest::isFailed() const
{
    return m_server->ask([](const AttachedRun& run) { return run.isFailed(); });
}

std::string Ingest::text() const
{
    return m_server->ask([](const AttachedRun& run) { return run.text(nowNs()); });
}

void Ingest::stop()
{
    m_server->stop();
}

} // namespace live
