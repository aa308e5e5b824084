#include "live/stream/publisher.h"

#include "live/stream/audience.h"
#include "live/stream/door.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace live {
namespace {

using Clock = std::chrono::steady_clock;

/// The block's bytes without a copy: the message holds the block.
zmq::message_t messageOf(const Audience::Part& part)
{
    if (!part.block)
        return zmq::message_t(part.text.data(), part.text.size());
    const std::shared_ptr<const Block>& block = part.block;
    auto* const holder = new std::shared_ptr<const Block>(block);
    return zmq::message_t(
        const_cast<char*>(block->bytes.data()), block->bytes.size(),
        [](void*, void* hint) { delete static_cast<std::shared_ptr<const Block>*>(hint); }, holder);
}

DoorOptions doorOptions(const PublishOptions& options)
{
    return {.endpoint = options.endpoint,
            .keys = options.keys,
            .who = "viewer",
            .messageBytes = kViewerBudget.header.bytes,
            .unfinishedBytes = kViewerBudget.unfinishedBytes,
            .sendQueue = static_cast<int>(kViewerBudget.sendQueue),
            .mostConnections = options.mostViewers * kViewerBudget.connectionsOfPlace,
            .hello = kViewerBudget.hello,
            .linger = options.linger,
            .betweenLogs = kViewerBudget.betweenLogs,
            .log = options.log};
}

} // namespace

class Publisher::Server {
public:
    Server(Collector& collector, const PublishOptions& options)
        : m_collector(collector), m_options(options), m_door(doorOptions(options)),
          m_audience(collector, options,
                     [this](const std::string& viewer, std::vector<Audience::Part> parts) { return send(viewer, parts); })
    {
        m_thread = std::thread([this] { serve(); });
    }

    ~Server()
    {
        m_stop = true;
        m_thread.join();
    }

    const std::string& endpoint() const { return m_door.endpoint(); }
    PublisherCounts counts() const
    {
        PublisherCounts counts = m_audience.counts();
        counts.refusedKeys = m_door.refusedKeys();
        return counts;
    }

private:
    void serve();
    void receiveAll();
    void checkConnections();
    bool send(const std::string& viewer, const std::vector<Audience::Part>&);

    Collector& m_collector;
    const PublishOptions m_options;
    Door m_door;
    Audience m_audience;
    bool m_ending = false;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

void Publisher::Server::serve()
{
    try {
        auto nextTick = Clock::now(), lastRound = nextTick;
        Clock::time_point end = Clock::time_point::max();
        while (true) {
            if (m_stop && !m_ending) {
                m_collector.collect();
                m_ending = true;
                m_audience.end();
                end = Clock::now() + m_options.linger;
                nextTick = Clock::now();
            }
            const auto now = Clock::now();
            if (now - std::exchange(lastRound, now) > kViewerBudget.silenceWhenFull / 2) {
                m_audience.wasAway(now);
                m_door.wasAway(now);
            }
            if (now >= nextTick) {
                m_audience.tick(now);
                nextTick = now + (m_ending ? std::chrono::milliseconds(5) : m_options.interval);
            }
            if (m_ending && (m_audience.everybodyKnowsTheEnd() || now >= end))
                break;
            const auto pause = std::chrono::ceil<std::chrono::milliseconds>(nextTick - Clock::now());
            m_door.wait(std::clamp(pause, std::chrono::milliseconds(0), m_options.interval));
            receiveAll();
            checkConnections();
        }
        m_audience.sayEnd();
    } catch (const std::exception& error) {
        // Whatever went wrong here, the run goes on; viewers see it fall silent.
        if (m_options.log)
            m_options.log(std::string("viewers are served no more: ") + error.what());
    }
}

void Publisher::Server::receiveAll()
{
    // Bounded, so that a flood of messages cannot keep others from their batches.
    constexpr int kMostMessages = 1000;
    std::string viewer;
    std::vector<zmq::message_t> frames;
    for (int i = 0; i < kMostMessages && m_door.receive(viewer, frames); ++i) {
        std::vector<std::string_view> parts(frames.size());
        std::transform(frames.begin(), frames.end(), parts.begin(), [](const auto& frame) { return frame.to_string_view(); });
        m_audience.receive(viewer, parts, Clock::now());
    }
}

/// Cuts what is over its budget. The run is not asked, and does not notice.
void Publisher::Server::checkConnections()
{
    const std::size_t cut = m_door.check([this](const std::string& viewer) { return m_audience.contains(viewer); },
                                         m_audience.counts().cutConnections);
    for (std::size_t i = 0; i < cut; ++i)
        m_audience.countCut();
}

bool Publisher::Server::send(const std::string& viewer, const std::vector<Audience::Part>& parts)
{
    std::vector<zmq::message_t> messages;
    messages.reserve(parts.size());
    for (const Audience::Part& part : parts)
        messages.push_back(messageOf(part));
    return m_door.send(viewer, std::move(messages));
}

Publisher::Publisher(Collector& collector, const PublishOptions& options) : m_server(std::make_unique<Server>(collector, options))
{
}

Publisher::~Publisher() = default;

const std::string& Publisher::endpoint() const
{
    return m_server->endpoint();
}

PublisherCounts Publisher::counts() const
{
    return m_server->counts();
}

} // namespace live
