#include "live/stream/audience.h"

#include "live/stream/pack.h"
#include "sim/error.h"

#include <algorithm>

namespace live {
namespace {

constexpr const ViewerBudget& kMost = kViewerBudget;
/// What a message costs besides its blocks.
constexpr std::size_t kMessageBytes = 4096;

std::string textOf(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string runMessage(const Collector& collector, bool controllable)
{
    RunDescription run = collector.description();
    run.controllable = controllable;
    Json message = header("run");
    message["run"] = toJson(run);
    return textOf(message);
}

} // namespace

Audience::Audience(Collector& collector, const PublishOptions& options, Send send)
    : m_collector(collector), m_options(options), m_send(std::move(send))
{
}

template <class F>
void Audience::count(F change)
{
    const std::lock_guard lock(m_countsMutex);
    change(m_counts);
    m_counts.viewers = m_viewers.size();
}

PublisherCounts Audience::counts() const
{
    const std::lock_guard lock(m_countsMutex);
    return m_counts;
}

void Audience::countCut()
{
    count([](PublisherCounts& counts) { ++counts.cutConnections; });
}

bool Audience::say(const std::string& viewer, const Json& json)
{
    return m_send(viewer, {{textOf(json), nullptr}});
}

void Audience::receive(const std::string& viewer, std::span<const std::string_view> frames, Clock::time_point now)
{
    int version = 0;
    std::string why;
    try {
        const bool isMessage = !frames.empty() && frames.size() <= kMost.frames;
        if (const auto json = isMessage ? readHeader(frames[0], kMost.header, "a viewer", &version) : std::nullopt) {
            understand(viewer, *json, now);
            return;
        }
    } catch (const sim::Error& error) {
        why = error.what();
    }
    count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
    if (version != 0 && version != kProtocolVersion)
        why = "the run speaks version " + std::to_string(kProtocolVersion) + " of the protocol, the viewer version " +
              std::to_string(version) + ": use the same Rankscope for both";
    if (why.empty())
        return;
    Json refused = header("refused");
    refused["message"] = why;
    say(viewer, refused);
}

void Audience::understand(const std::string& name, const Json& json, Clock::time_point now)
{
    const std::string type = typeOf(json);
    const auto place = m_viewers.find(name);
    if (place == m_viewers.end()) {
        if (type == "hello")
            attach(name, json, now);
        else if (type == "ack" || type == "alive" || type == "control")
            say(name, header("who")); // it was forgotten while it slept
        else if (type != "bye")
            count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
        return;
    }
    if (type == "hello") // a second one has crossed the answer to the first; who says nothing else does not look
        return;
    Viewer& viewer = place->second;
    viewer.heard = now;
    if (type == "ack") {
        acknowledge(viewer, numberIn(json, "n"), now);
    } else if (type == "control") {
        control(name, json);
    } else if (type == "bye") {
        m_viewers.erase(place);
        count([](PublisherCounts&) {});
    } else if (type != "alive") {
        count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
    }
}

/// A place for a newcomer. When all are taken: of one that gives no sign of life or takes nothing, after a while. Who has waited
/// longest comes first, or those who shout most would have every place.
bool Audience::hasPlace(const std::string& name, Clock::time_point now)
{
    std::erase_if(m_waiting, [&](const auto& entry) { return now - entry.second.heard > kMost.silenceWhenFull; });
    const auto place = m_waiting.find(name);
    const auto since = place == m_waiting.end() ? now : place->second.since;
    const auto before = static_cast<std::size_t>(
        std::count_if(m_waiting.begin(), m_waiting.end(), [&](const auto& entry) { return entry.second.since < since; }));
    if (m_viewers.size() + before < m_options.mostViewers) {
        m_waiting.erase(name);
        return true;
    }
    const auto isIdle = [&](const auto& entry) {
        const Viewer& viewer = entry.second;
        return now - viewer.heard > kMost.silenceWhenFull ||
               now - viewer.took > (viewer.hasAnswered ? kMost.silence : kMost.firstTakenWhenFull);
    };
    const auto idle = std::find_if(m_viewers.begin(), m_viewers.end(), isIdle);
    if (before == 0 && idle != m_viewers.end()) {
        m_viewers.erase(idle);
        m_waiting.erase(name);
        count([](PublisherCounts& counts) { ++counts.forgotten; });
        return true;
    }
    const bool mayWait = place != m_waiting.end() || m_waiting.size() < m_options.mostViewers * kMost.connectionsOfPlace;
    if (mayWait && now - since < kMost.patience) {
        m_waiting.insert_or_assign(name, Newcomer{since, now});
        return false; // it says hello again
    }
    m_waiting.erase(name);
    Json refused = header("refused");
    refused["message"] = "the run has room for " +
                         (m_options.mostViewers == 1 ? "one viewer" : std::to_string(m_options.mostViewers) + " viewers") +
                         ", and others came first";
    say(name, refused);
    return false;
}

void Audience::attach(const std::string& name, const Json& json, Clock::time_point now)
{
    if (!m_collector.isDescribed()) {
        if (m_early.size() < m_options.mostViewers)
            m_early.insert(name);
        return;
    }
    m_early.clear();
    if (m_runMessage.empty())
        m_runMessage = runMessage(m_collector, static_cast<bool>(m_options.control));
    if (!hasPlace(name, now) || !m_send(name, {{m_runMessage, nullptr}}))
        return;
    Viewer viewer;
    viewer.cursor = m_collector.beginning();
    if (textIn(json, "run", kMost.runIdBytes) == m_collector.description().runId) {
        // Cut off and back again: goes on where it was.
        viewer.cursor.nextBlock = numberIn(json, "block");
        viewer.cursor.spansSeen = numberIn(json, "spans");
        viewer.cursor.kinds = static_cast<std::size_t>(numberIn(json, "kinds")); // one that lies gets nonsense
    }
    viewer.heard = viewer.spoken = viewer.took = now;
    m_viewers[name] = std::move(viewer);
    count([](PublisherCounts& counts) { ++counts.attached; });
}

void Audience::acknowledge(Viewer& viewer, std::uint64_t number, Clock::time_point now)
{
    while (!viewer.onTheWay.empty() && viewer.onTheWay.front().number <= number) {
        viewer.bytesOnTheWay -= viewer.onTheWay.front().bytes;
        viewer.recordsOnTheWay -= viewer.onTheWay.front().records;
        viewer.onTheWay.pop_front();
        viewer.took = now;
        viewer.hasAnswered = true;
    }
}

void Audience::control(const std::string& name, const Json& json)
{
    const std::string action = textIn(json, "action", 64);
    Json reply = header("reply");
    reply["action"] = action;
    reply["accepted"] = false;
    const std::optional<RunRequest> request = requestFrom(action);
    if (!request) {
        count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
        return;
    }
    if (!m_options.control) {
        reply["message"] = "this run takes no requests from viewers";
    } else {
        try {
            reply["message"] = m_options.control(*request);
            reply["accepted"] = true;
        } catch (const std::exception& error) {
            reply["message"] = error.what();
        }
    }
    say(name, reply);
}

void Audience::tick(Clock::time_point now)
{
    for (auto place = m_viewers.begin(); place != m_viewers.end();) {
        if (now - place->second.heard > kMost.silence) {
            place = m_viewers.erase(place);
            count([](PublisherCounts& counts) { ++counts.forgotten; });
        } else {
            sendNews(place->first, place->second, now);
            ++place;
        }
    }
}

void Audience::wasAway(Clock::time_point now)
{
    for (auto& [name, viewer] : m_viewers)
        viewer.heard = viewer.took = now;
}

bool Audience::mayBeSentMore(const Viewer& viewer) const
{
    return viewer.bytesOnTheWay < m_options.windowBytes && viewer.recordsOnTheWay < kRunBudget.recordsPending / 4;
}

void Audience::sendNews(const std::string& name, Viewer& viewer, Clock::time_point now)
{
    bool more = true;
    while (more && mayBeSentMore(viewer)) {
        Collector::Cursor cursor = viewer.cursor;
        const Collector::News news = m_collector.since(cursor, {.bytes = kDataBytes, .records = kRunBudget.recordsOfMessage / 2});
        more = news.more;
        if (news.empty()) {
            const bool isOver = m_ending || hasEnded(news.state.status);
            if (isOver && !viewer.toldEnd && viewer.onTheWay.empty())
                viewer.toldEnd = say(name, header("end"));
            break;
        }
        Json message = header("data");
        message["n"] = viewer.nextMessage;
        message["state"] = toJson(news.state);
        message["kinds_from"] = viewer.cursor.kinds;
        for (const sim::SpanKind& kind : news.kinds)
            message["kinds"].push_back(toJson(kind));
        std::vector<Part> parts(1);
        std::size_t bytes = 0, records = 0;
        std::uint64_t spans = 0;
        for (const auto& block : news.blocks) {
            message["blocks"].push_back(toJson(*block));
            spans += block->content == Block::Content::spans ? block->count : 0;
            records += block->count;
            bytes += block->bytes.size();
            parts.push_back({{}, block});
        }
        if (!news.steps.empty()) {
            message["steps"] = true;
            parts.push_back({packSteps(news.steps), nullptr});
            bytes += parts.back().text.size();
        }
        parts[0].text = textOf(message);
        if (!m_send(name, std::move(parts)))
            break; // its queue is full, or it has gone: the cursor stays where it was
        viewer.cursor = cursor;
        if (viewer.onTheWay.empty())
            viewer.took = now;
        viewer.onTheWay.push_back({viewer.nextMessage++, bytes + kMessageBytes, records});
        viewer.bytesOnTheWay += bytes + kMessageBytes;
        viewer.recordsOnTheWay += records;
        viewer.spoken = now;
        viewer.toldEnd = false;
        count([&](PublisherCounts& counts) {
            counts.spansSent += spans;
            counts.spansMissed += news.missed;
            counts.bytesSent += bytes;
        });
    }
    if (viewer.onTheWay.empty())
        viewer.took = now;
    if (now - viewer.spoken >= kHeartbeat) {
        say(name, header("alive"));
        viewer.spoken = now;
    }
}

bool Audience::everybodyKnowsTheEnd() const
{
    return std::all_of(m_viewers.begin(), m_viewers.end(), [](const auto& viewer) { return viewer.second.toldEnd; });
}

void Audience::sayEnd()
{
    for (const auto& [name, viewer] : m_viewers)
        if (!viewer.toldEnd)
            say(name, header("end"));
}

} // namespace live
