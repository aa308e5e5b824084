// What answers at an address need not be a run, nor mean well: whatever it says, a viewer stays small and awake, and its state
// says what came, with the numbers.
#include "live/stream/messages.h"
#include "live/stream/pack.h"
#include "live/stream/received_run.h"
#include "live/stream/viewer.h"
#include "run_for_tests.h"
#include "sim/error.h"
#include "tests/live/support/raw_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <zmq.hpp>

namespace {

using live::Json;
using live::ReceivedRun;
using live::ViewerState;
using std::chrono::milliseconds;
using test::eventually;
using testing::HasSubstr;
using Message = std::vector<std::string>;

Json describe(const std::function<void(Json&)>& change = [](Json&) {})
{
    Json message = live::header("run");
    message["run"] = live::toJson(test::smallRun());
    change(message["run"]);
    return message;
}

Json data(int number = 1)
{
    Json message = live::header("data");
    message["n"] = number;
    message["kinds_from"] = 0;
    message["kinds"] = Json::array({live::toJson(sim::SpanKind{.name = "kernel"})});
    return message;
}

live::RankSpan spanOf(int step)
{
    return {0, {.startNs = 1000, .endNs = 2000, .readyNs = 1000, .kind = 0, .microbatch = 0, .step = step}};
}

/// A data message with `blocks` times the same block.
Message blocksOf(const std::vector<live::RankSpan>& spans, int blocks = 1, int first = 0, int number = 1)
{
    Message message(1);
    Json json = data(number);
    for (int i = 0; i < blocks; ++i) {
        const auto sequence = static_cast<std::uint64_t>(first + i);
        json["blocks"].push_back(live::toJson(live::Block{.firstStep = spans.front().span.step,
                                                          .lastStep = spans.back().span.step,
                                                          .sequence = sequence,
                                                          .spansBefore = sequence * spans.size()}));
        message.push_back(live::packSpans(spans));
    }
    message[0] = json.dump();
    return message;
}

Message stepsOf(const std::vector<live::StepSummary>& steps)
{
    Json json = data();
    json["steps"] = true;
    return {json.dump(), live::packSteps(steps)};
}

std::string nested(std::size_t depth)
{
    return std::string(depth, '[') + std::string(depth, ']');
}

/// Answers a hello with these messages, and then nothing.
class HostileRun {
public:
    explicit HostileRun(std::vector<Message> messages) : m_messages(std::move(messages))
    {
        m_socket.set(zmq::sockopt::linger, 0);
        m_socket.set(zmq::sockopt::sndhwm, 0);
        m_socket.bind("tcp://127.0.0.1:*");
        m_endpoint = m_socket.get(zmq::sockopt::last_endpoint);
        m_thread = std::thread([this] { serve(); });
    }
    ~HostileRun()
    {
        m_stop = true;
        m_thread.join();
    }
    const std::string& endpoint() const { return m_endpoint; }

private:
    void serve()
    {
        bool answered = false;
        while (!m_stop) {
            zmq::pollitem_t item{m_socket.handle(), 0, ZMQ_POLLIN, 0};
            zmq::poll(&item, 1, milliseconds(10));
            zmq::message_t identity, text;
            if (!m_socket.recv(identity, zmq::recv_flags::dontwait) || !m_socket.recv(text) || answered)
                continue;
            answered = true;
            for (const Message& message : m_messages) {
                m_socket.send(zmq::buffer(identity.to_string()), zmq::send_flags::sndmore);
                for (std::size_t i = 0; i < message.size(); ++i)
                    m_socket.send(zmq::buffer(message[i]),
                                  i + 1 < message.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
            }
        }
    }

    const std::vector<Message> m_messages;
    zmq::context_t m_context;
    zmq::socket_t m_socket{m_context, zmq::socket_type::router};
    std::string m_endpoint;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

/// What a viewer says in the end of a run that sends this, after its description.
std::string refusalOf(std::vector<Message> messages, std::int64_t mostMegabytes = 300)
{
    messages.insert(messages.begin(), {describe().dump()});
    const HostileRun run(std::move(messages));
    const std::int64_t before = test::residentMegabytes();
    std::int64_t most = before;
    live::Viewer viewer(run.endpoint());
    EXPECT_TRUE(eventually([&] {
        most = std::max(most, test::residentMegabytes());
        return viewer.state().state == ViewerState::refused;
    })) << viewer.state().message;
    EXPECT_LT(most - before, mostMegabytes);
    return viewer.state().message;
}

TEST(HostileRun, NamesThatAreRefusedAreQuotedInPart)
{
    const std::string name(1'000'000, 'k');
    const std::string why = refusalOf({{describe([&](Json& run) { run["group_sizes"] = {{name, -5}}; }).dump()}});
    EXPECT_THAT(why, HasSubstr("(1000000 bytes) = -5, where 0 to 4 can be"));
    EXPECT_LE(why.size(), live::kRunBudget.messageTextBytes);
}

TEST(HostileRun, BracketsWithinBracketsAreCountedBeforeTheyAreParsed)
{
    const std::string deep = nested(200'000);
    EXPECT_THAT(refusalOf({{R"({"v":1,"type":"data","n":)" + deep + "}"}}), HasSubstr("9 brackets within each other"));
    EXPECT_THAT(refusalOf({{R"({"v":1,"type":"run","run":)" + deep + "}"}}), HasSubstr("at most 8"));
    EXPECT_THAT(refusalOf({{deep}}), HasSubstr("9 brackets"));
    // A scenario within the description is a text there, and JSON to whoever opens it.
    EXPECT_THAT(refusalOf({{describe([&](Json& run) { run["scenario"] = deep; }).dump()}}), HasSubstr("its scenario"));
}

TEST(HostileRun, ValuesAreCountedBeforeTheyTakeMemory)
{
    std::string values = R"({"v":1,"type":"data","kinds":[)";
    for (int i = 0; i < 1'200'000; ++i)
        values += "[],";
    EXPECT_THAT(refusalOf({{values + "[]]}"}}), HasSubstr("1048577 values"));
}

TEST(HostileRun, BlocksThatUnpackToGigabytesAreNotUnpacked)
{
    // 103 bytes each that say "8,192 times the same": 2 MB of them would be 4.9 GB.
    const std::vector<live::RankSpan> same(live::kMaxRecordsOfBlock, spanOf(0));
    EXPECT_THAT(refusalOf({blocksOf(same, 7000)}), HasSubstr("270336 records in one message, where at most 262144"));
    // In many messages none of which is too much: what nobody polls is bounded too.
    std::vector<Message> messages;
    for (int i = 0; i < 100; ++i)
        messages.push_back(blocksOf(same, 16, 16 * i, i + 1));
    EXPECT_THAT(refusalOf(messages), HasSubstr("records without waiting until some are looked at, where at most 1048576"));
}

TEST(HostileRun, StepsArePossibleAndComeInOrder)
{
    std::vector<live::StepSummary> descending(60'000);
    for (std::size_t i = 0; i < descending.size(); ++i)
        descending[i].step = static_cast<int>(descending.size() - i);
    EXPECT_THAT(refusalOf({stepsOf(descending)}), HasSubstr("step 59999 after step 60000"));
    EXPECT_THAT(refusalOf({stepsOf({{.step = 7}, {.step = 7}})}), HasSubstr("step 7 after step 7"));
    EXPECT_THAT(refusalOf({stepsOf({{.step = 2'147'483'647}})}), HasSubstr("numbered 2147483647"));
    EXPECT_THAT(refusalOf({stepsOf({{.step = 900'000'000}}), stepsOf({{.step = 5}})}),
                HasSubstr("step 5 for the first time after step 900000000"));
    EXPECT_THAT(refusalOf({blocksOf({spanOf(2'147'483'647)})}), HasSubstr("first = 2147483647"));
    EXPECT_THAT(refusalOf({stepsOf({{.step = 1, .startNs = -5}})}), HasSubstr("-5 ns"));
}

TEST(HostileRun, SpansAreOfWhatTheRunDescribed)
{
    const auto with = [](const std::function<void(live::RankSpan&)>& change) {
        live::RankSpan span = spanOf(3);
        change(span);
        return refusalOf({blocksOf({span})});
    };
    EXPECT_THAT(with([](auto& span) { span.rank = 4; }), HasSubstr("a rank that the run does not have: 4"));
    EXPECT_THAT(with([](auto& span) { span.span.kind = 1; }), HasSubstr("an unknown kind: 1"));
    EXPECT_THAT(with([](auto& span) { span.span.track = static_cast<live::SpanTrack>(10); }), HasSubstr("an unknown track: 10"));
    EXPECT_THAT(with([](auto& span) { span.span.microbatch = 2'000'000'000; }), HasSubstr("micro-batch 2000000000"));
    EXPECT_THAT(with([](auto& span) { span.span.endNs = std::int64_t{1} << 62U; }), HasSubstr("4611686018427387904 ns"));
    EXPECT_THAT(with([](auto& span) { span.span.bytes = -1; }), HasSubstr("-1 bytes"));
    Json kind = data();
    kind["kinds"][0]["stage"] = 2'000'000'000;
    EXPECT_THAT(refusalOf({{kind.dump()}}), HasSubstr("stage = 2000000000"));
    Message lie = blocksOf({spanOf(3)});
    Json header = Json::parse(lie[0]);
    header["blocks"][0]["last"] = 999;
    EXPECT_THAT(refusalOf({{header.dump(), lie[1]}}), HasSubstr("steps 3 to 3 as those of steps 3 to 999"));
}

TEST(HostileRun, ADescriptionThatCannotBeIsRefused)
{
    const auto with = [](const char* key, const Json& value) {
        return refusalOf({{describe([&](Json& run) { run[key] = value; }).dump()}});
    };
    EXPECT_THAT(with("world_size", 2'147'483'648), HasSubstr("world_size = 2147483648, where 1 to 65536 can be"));
    EXPECT_THAT(with("world_size", 18'446'744'073'709'551'615U), HasSubstr("world_size = 18446744073709551615"));
    EXPECT_THAT(with("world_size", "many"), HasSubstr("world_size = 0"));
    EXPECT_THAT(with("group_sizes", {{"tp", 1'000'000}}), HasSubstr("tp = 1000000, where 0 to 4 can be"));
    EXPECT_THAT(with("rank_names", Json(std::vector<std::string>(5, "rank"))), HasSubstr("5 ranks of 4"));
    EXPECT_THAT(with("scenario", std::string(5 << 20, 'x')), HasSubstr("its scenario sent 5242880 bytes"));
    EXPECT_THAT(refusalOf({{R"({"v":1,"type":"run"})"}}), HasSubstr("no description"));
    EXPECT_THAT(refusalOf({{R"({"v":1,"type":"run","run":[]})"}}), HasSubstr("does not describe itself"));
}

TEST(HostileRun, LongTextsAreCutWithAMark)
{
    Json state = data();
    state["state"] = {{"status", 1}, {"message", std::string(1'000'000, 'x')}};
    state["kinds"][0]["name"] = std::string(5000, 'n');
    const HostileRun run({{describe([](Json& json) { json["name"] = std::string(5000, 'r'); }).dump()}, {state.dump()}});
    live::Viewer viewer(run.endpoint());
    ASSERT_TRUE(eventually([&] { return !viewer.history().state.message.empty(); })) << viewer.state().message;
    const live::RunHistory history = viewer.history();
    EXPECT_LE(history.state.message.size(), 4096U);
    EXPECT_THAT(history.state.message, testing::EndsWith("… (1000000 bytes)"));
    EXPECT_THAT(history.kinds[0].name, testing::EndsWith("… (5000 bytes)"));
    EXPECT_THAT(history.description.name, testing::EndsWith("… (5000 bytes)"));
    EXPECT_EQ(live::cut("ééééééééééééééé", 23), "éééé… (30 bytes)") << "a character was cut in two";

    state["state"]["message"] = std::string(30'000'000, 'x');
    EXPECT_THAT(refusalOf({{state.dump()}}), testing::AnyOf(HasSubstr("bytes in one header, where at most 8388608 are read"),
                                                            HasSubstr("of a message that did not end"))); // seen on its way
}

TEST(HostileRun, AFloodOfNothingEnds)
{
    EXPECT_THAT(refusalOf(std::vector<Message>(20'000, Message{R"({"v":1,"type":"who"})"})),
                HasSubstr("1000 messages in a second"));
    EXPECT_THAT(refusalOf(std::vector<Message>(20'000, Message{"nonsense"})), HasSubstr("nothing in them"));
}

TEST(HostileRun, AMessageWithoutAnEndEnds)
{
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = test::RawPeer::loopback(0);
    socklen_t length = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    const std::int64_t before = test::residentMegabytes();
    live::Viewer viewer("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
    test::RawPeer run(::accept(listener, nullptr, nullptr));
    ASSERT_TRUE(run.greet("ROUTER"));
    constexpr std::size_t kMost = std::size_t{1500} << 20U;
    EXPECT_LT(run.sendWithoutEnd(kMost), kMost);
    EXPECT_LT(test::residentMegabytes() - before, 600);
    EXPECT_TRUE(eventually([&] { return viewer.state().state == ViewerState::refused; }));
    EXPECT_THAT(viewer.state().message, HasSubstr("bytes of a message that did not end, where at most 16777216 are taken"));
    ::close(listener);
}

ReceivedRun::Heard take(ReceivedRun& run, const Message& message)
{
    const std::vector<std::string_view> frames(message.begin(), message.end());
    return run.take(frames);
}

TEST(ReceivedRun, SpansOfAStepBeyondWhatIsKeptCountAsMissed)
{
    ReceivedRun run({});
    take(run, {describe().dump()});
    const std::vector<live::RankSpan> same(live::kMaxRecordsOfBlock, spanOf(0));
    live::ViewerUpdate update;
    std::size_t spans = 0;
    std::uint64_t missed = 0;
    for (int i = 0; i < 300; ++i) {
        take(run, blocksOf(same, 1, i, i + 1));
        run.poll(update);
        spans += update.spans.size();
        missed += update.missed;
    }
    EXPECT_EQ(spans, live::kRunBudget.spansOfStep);
    EXPECT_EQ(missed, 300 * live::kMaxRecordsOfBlock - spans);
    const live::RunHistory history = run.history();
    EXPECT_EQ(history.spans({0, 0}).size(), spans);
}

TEST(ReceivedRun, SpansThatLastTooLongTogetherAreRefused)
{
    ReceivedRun run({});
    take(run, {describe().dump()});
    live::RankSpan late = spanOf(0);
    late.span.startNs = std::int64_t{1} << 58U;
    late.span.endNs = late.span.startNs + 1;
    EXPECT_THROW(take(run, blocksOf({spanOf(0), spanOf(0), spanOf(0), spanOf(0), late})), sim::Error);
}

TEST(ReceivedRun, RepliesThatNobodyAskedForAreNotKept)
{
    ReceivedRun run({});
    take(run, {describe().dump()});
    const Message reply = {R"({"v":1,"type":"reply","action":"stop","accepted":true,"message":"x"})"};
    EXPECT_EQ(take(run, reply).meaning, ReceivedRun::Meaning::nothing);
    run.asked(live::RunRequest::stop);
    EXPECT_EQ(take(run, reply).meaning, ReceivedRun::Meaning::news);
    EXPECT_EQ(take(run, reply).meaning, ReceivedRun::Meaning::nothing);
    live::ViewerUpdate update;
    run.poll(update);
    EXPECT_EQ(update.replies.size(), 1U);
}

TEST(ReceivedRun, AViewerThatCannotTakeMoreSaysNoHello)
{
    ReceivedRun run({});
    EXPECT_TRUE(run.hello());
    take(run, {describe().dump()});
    const std::vector<live::RankSpan> same(live::kMaxRecordsOfBlock, spanOf(0));
    for (int i = 0; i < 5; ++i)
        take(run, blocksOf(same, 16, 16 * i, i + 1));
    EXPECT_FALSE(run.hello());
    live::ViewerUpdate update;
    run.poll(update);
    EXPECT_TRUE(run.hello());
}

/// Of another Rankscope: that is said, and not that nobody answers.
TEST(HostileRun, AnotherVersionOfTheProtocolIsTold)
{
    ReceivedRun run({});
    Json message = describe();
    message["v"] = 99;
    const std::string text = message.dump();
    const std::string_view frame = text;
    const ReceivedRun::Heard heard = run.take({&frame, 1}, std::chrono::steady_clock::now());
    EXPECT_EQ(heard.meaning, ReceivedRun::Meaning::refused);
    EXPECT_THAT(heard.text, HasSubstr("version 99"));
}

TEST(ReceivedRun, HistoryIsBoundedByWhatItUnpacksTo)
{
    live::HistoryLimits limits;
    limits.records = 100'000;
    ReceivedRun run(limits);
    take(run, {describe().dump()});
    live::ViewerUpdate update;
    for (int i = 0; i < 60; ++i) {
        take(run, blocksOf(std::vector<live::RankSpan>(live::kMaxRecordsOfBlock, spanOf(i / 10)), 1, i, i + 1));
        run.poll(update);
    }
    const live::RunHistory history = run.history();
    EXPECT_LE(history.spans(history.stepsWithSpans()).size(), limits.records);
}

} // namespace
