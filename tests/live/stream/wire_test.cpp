#include "live/stream/publisher.h"
#include "live/stream/viewer.h"
#include "run_for_tests.h"
#include "sim/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.hpp>

namespace {

using live::ViewerState;
using std::chrono::milliseconds;
using test::eventually;
using testing::HasSubstr;

/// A viewer and all that it was told.
struct Watcher {
    live::Viewer viewer;
    live::ViewerUpdate all;
    explicit Watcher(const std::string& endpoint, live::ViewerOptions options = {}) : viewer(endpoint, std::move(options)) {}

    void poll()
    {
        live::ViewerUpdate update;
        if (!viewer.poll(update))
            return;
        if (update.description)
            all.description = update.description;
        all.kinds.insert(all.kinds.end(), update.kinds.begin(), update.kinds.end());
        all.spans.insert(all.spans.end(), update.spans.begin(), update.spans.end());
        all.memory.insert(all.memory.end(), update.memory.begin(), update.memory.end());
        for (const live::StepSummary& step : update.steps)
            all.steps.push_back(step);
        if (update.run)
            all.run = update.run;
        all.replies.insert(all.replies.end(), update.replies.begin(), update.replies.end());
        all.missed += update.missed;
    }
    bool sees(std::size_t spans)
    {
        return eventually([&] {
            poll();
            return all.spans.size() >= spans;
        });
    }
    bool becomes(ViewerState state)
    {
        return eventually([&] {
            poll();
            return viewer.state().state == state;
        });
    }
};

live::PublishOptions quick(std::string endpoint = "tcp://127.0.0.1:0")
{
    live::PublishOptions options;
    options.endpoint = std::move(endpoint);
    options.interval = milliseconds(5);
    return options;
}

std::filesystem::path freshFolder()
{
    std::string name = (std::filesystem::temp_directory_path() / "rankscope_wire_XXXXXX").string();
    return ::mkdtemp(name.data());
}

TEST(Wire, AViewerSeesTheRunFromItsDescriptionToItsEnd)
{
    test::Run run;
    live::Publisher publisher(*run.collector, quick());
    EXPECT_THAT(publisher.endpoint(), testing::MatchesRegex("tcp://127.0.0.1:[1-9][0-9]*"));
    Watcher watcher(publisher.endpoint());
    ASSERT_TRUE(watcher.becomes(ViewerState::connected)) << watcher.viewer.state().message;
    run.collector->setStatus(live::RunStatus::running);
    run.recorders[1]->memory.push({.timeNs = 5, .value = 77});
    run.train(0, 3);
    ASSERT_TRUE(watcher.sees(12));
    run.collector->setStatus(live::RunStatus::failed, "rank 2 died");
    ASSERT_TRUE(watcher.becomes(ViewerState::ended));
    EXPECT_THAT(watcher.viewer.state().message, HasSubstr("failed: rank 2 died"));

    ASSERT_TRUE(watcher.all.description);
    EXPECT_EQ(watcher.all.description->rankNames[3], "rank 3 (dp0 pp1 cp0 tp1)");
    EXPECT_EQ(watcher.all.description->groupSizes.at("tp"), 2);
    EXPECT_FALSE(watcher.all.description->controllable);
    ASSERT_EQ(watcher.all.kinds.size(), 5U);
    EXPECT_EQ(watcher.all.kinds[1].name, "mlp.fc1");
    EXPECT_EQ(watcher.all.kinds[2].group, "tp");
    ASSERT_EQ(watcher.all.memory.size(), 1U);
    EXPECT_EQ(watcher.all.memory[0].rank, 1);
    EXPECT_EQ(watcher.all.memory[0].value.value, 77);
    ASSERT_TRUE(watcher.all.run);
    EXPECT_EQ(watcher.all.run->status, live::RunStatus::failed);
    EXPECT_EQ(watcher.all.run->spansRecorded, 12U);
    const live::RunHistory history = watcher.viewer.history();
    ASSERT_EQ(history.steps.size(), 3U);
    EXPECT_EQ(history.steps[2].loss, 8.0);
    EXPECT_EQ(history.steps[2].sums.computeNs, 4 * 500);
    EXPECT_EQ(history.spans(history.stepsWithSpans()).size(), 12U);
    EXPECT_EQ(watcher.all.missed, 0U);
}

TEST(Wire, ALateViewerGetsTheHistoryAndTwoViewersSeeTheSame)
{
    test::Run run;
    live::Publisher publisher(*run.collector, quick());
    Watcher early(publisher.endpoint());
    ASSERT_TRUE(early.becomes(ViewerState::connected));
    run.train(0, 5);
    ASSERT_TRUE(early.sees(20));
    Watcher late(publisher.endpoint());
    run.train(5, 1);
    ASSERT_TRUE(late.sees(24));
    ASSERT_TRUE(early.sees(24));
    EXPECT_EQ(late.all.spans.size(), 24U);
    for (std::size_t i = 0; i < 24; ++i) {
        EXPECT_EQ(early.all.spans[i].rank, late.all.spans[i].rank);
        EXPECT_EQ(early.all.spans[i].span.startNs, late.all.spans[i].span.startNs);
    }
    EXPECT_EQ(late.all.missed, 0U);
    EXPECT_EQ(publisher.counts().viewers, 2U);
}

TEST(Wire, RunsListenOnASocketFileTooAndLeaveNoneBehind)
{
    const auto folder = freshFolder();
    const std::string endpoint = "ipc://" + (folder / "run").string();
    test::Run run;
    {
        live::Publisher publisher(*run.collector, quick(endpoint));
        struct stat status {};
        ASSERT_EQ(::stat((folder / "run").c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777U, 0600U);
        Watcher watcher(endpoint);
        run.train(0, 1);
        EXPECT_TRUE(watcher.sees(4));
        try {
            live::Publisher second(*run.collector, quick(endpoint));
            ADD_FAILURE() << "a living run's socket was taken over";
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("another run"));
        }
        run.train(1, 1);
        EXPECT_TRUE(watcher.sees(8)) << "the first run lost its viewer";
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

TEST(Wire, APortThatIsTakenIsNamed)
{
    test::Run run;
    live::Publisher first(*run.collector, quick());
    try {
        live::Publisher second(*run.collector, quick(first.endpoint()));
        FAIL() << "two runs share a port";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(first.endpoint()));
        EXPECT_THAT(error.what(), HasSubstr("tcp://127.0.0.1:0"));
    }
}

TEST(Wire, EndpointsThatAreNoneAreRefused)
{
    test::Run run;
    EXPECT_THROW(live::Publisher(*run.collector, quick("nonsense")), sim::Error);
    EXPECT_THROW(live::Viewer("nonsense"), sim::Error);
    EXPECT_THROW(live::Viewer("tcp://127.0.0.1"), sim::Error);
}

TEST(Wire, AViewerWaitsForARunThatIsNotThereYet)
{
    const auto folder = freshFolder();
    const std::string endpoint = "ipc://" + (folder / "run").string();
    Watcher watcher(endpoint);
    watcher.viewer.request(live::RunRequest::pause);
    ASSERT_TRUE(eventually([&] {
        watcher.poll();
        return !watcher.all.replies.empty();
    }));
    EXPECT_FALSE(watcher.all.replies[0].accepted);
    EXPECT_EQ(watcher.viewer.state().state, ViewerState::connecting);
    test::Run run;
    live::Publisher publisher(*run.collector, quick(endpoint));
    EXPECT_TRUE(watcher.becomes(ViewerState::connected));
    std::filesystem::remove_all(folder);
}

/// A process with a run that trains until it is killed.
pid_t startRunProcess(const std::string& endpoint)
{
    const pid_t process = ::fork();
    if (process != 0)
        return process;
    test::Run run({.history = {.steps = 1'000'000}});
    live::Publisher publisher(*run.collector, quick(endpoint));
    for (int step = 0;; ++step) {
        run.train(step, 1);
        std::this_thread::sleep_for(milliseconds(1));
    }
}

TEST(Wire, AKilledRunIsNoticedAndNothingReceivedIsLost)
{
    const auto folder = freshFolder();
    const std::string endpoint = "ipc://" + (folder / "run").string();
    const pid_t process = startRunProcess(endpoint);
    live::ViewerOptions options;
    options.history.steps = 1'000'000;
    Watcher watcher(endpoint, options);
    ASSERT_TRUE(watcher.sees(40));
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    const auto killed = std::chrono::steady_clock::now();
    ASSERT_TRUE(watcher.becomes(ViewerState::lost));
    EXPECT_LT(std::chrono::steady_clock::now() - killed, milliseconds(3000));
    watcher.poll();
    const live::RunHistory history = watcher.viewer.history();
    EXPECT_EQ(history.spans(history.stepsWithSpans()).size(), watcher.all.spans.size());
    EXPECT_GE(watcher.all.spans.size(), 40U);

    // Another run at the same address is not mistaken for it. (Both have the same made-up id but for this one's.)
    test::SmallKinds kinds;
    live::RunDescription other = test::smallRun();
    other.runId = "another";
    live::Collector collector(other, kinds.all, {});
    live::Publisher publisher(collector, quick(endpoint));
    ASSERT_TRUE(watcher.becomes(ViewerState::refused));
    EXPECT_THAT(watcher.viewer.state().message, HasSubstr("another run"));
    std::filesystem::remove_all(folder);
}

TEST(Wire, AStoppedRunIsLostAndFoundAgain)
{
    const auto folder = freshFolder();
    const std::string endpoint = "ipc://" + (folder / "run").string();
    const pid_t process = startRunProcess(endpoint);
    live::ViewerOptions options;
    options.silence = milliseconds(700);
    Watcher watcher(endpoint, options);
    ASSERT_TRUE(watcher.sees(4));
    ::kill(process, SIGSTOP);
    EXPECT_TRUE(watcher.becomes(ViewerState::lost));
    EXPECT_THAT(watcher.viewer.state().message, HasSubstr("silent"));
    const std::size_t seen = watcher.all.spans.size();
    ::kill(process, SIGCONT);
    EXPECT_TRUE(watcher.becomes(ViewerState::connected));
    EXPECT_TRUE(watcher.sees(seen + 40));
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    // It went on where it was: each step's four spans once, none missed.
    EXPECT_EQ(watcher.all.missed, 0U);
    for (std::size_t i = 0; i < watcher.all.spans.size(); ++i)
        ASSERT_EQ(watcher.all.spans[i].span.step, static_cast<int>(i / 4)) << i;
    std::filesystem::remove_all(folder);
}

TEST(Wire, AStalledViewerIsSkippedAndToldHowMuchItMissed)
{
    test::Run run({.history = {.steps = 10}});
    live::PublishOptions options = quick();
    options.windowBytes = 1; // one batch on the way at most
    live::Publisher publisher(*run.collector, options);
    Watcher stalled(publisher.endpoint()), lively(publisher.endpoint());
    run.train(0, 1);
    ASSERT_TRUE(stalled.sees(4));
    ASSERT_TRUE(lively.sees(4));
    std::size_t steps = 1;
    for (; steps < 60; ++steps) {
        run.train(static_cast<int>(steps), 1);
        ASSERT_TRUE(lively.sees(4 * (steps + 1))) << "the stalled viewer holds up the others";
    }
    EXPECT_EQ(lively.all.missed, 0U);
    ASSERT_TRUE(eventually([&] {
        stalled.poll();
        return stalled.all.spans.size() + stalled.all.missed == 240;
    })) << stalled.all.spans.size()
        << " + " << stalled.all.missed;
    EXPECT_GE(stalled.all.missed, 4U * 40);
    EXPECT_TRUE(eventually([&] { return publisher.counts().spansMissed == stalled.all.missed; })) << "counted after it is told";
    EXPECT_EQ(run.collector->state().spansForgotten, 4U * 50);
    // What the window did not send in spans it still has in numbers.
    EXPECT_EQ(stalled.viewer.history().steps.size(), 60U);
}

TEST(Wire, DroppedSpansAreCountedUpToTheViewer)
{
    test::Run run({.interval = milliseconds(100'000)}, 4, 8);
    live::Publisher publisher(*run.collector, quick());
    Watcher watcher(publisher.endpoint());
    for (int i = 0; i < 20; ++i)
        run.recorders[0]->spans.push(test::computeSpan(run.kinds, 1, 2));
    run.collector->collect();
    ASSERT_TRUE(watcher.sees(8));
    ASSERT_TRUE(eventually([&] {
        watcher.poll();
        return watcher.all.run && watcher.all.run->spansDropped == 12;
    }));
    EXPECT_EQ(watcher.all.run->spansRecorded, 8U);
}

std::string obey(live::RunRequest request)
{
    if (request == live::RunRequest::resume)
        throw sim::Error("it is not paused");
    return runRequestName(request);
}

TEST(Wire, RequestsReachTheRunWhereItAllowsThem)
{
    test::Run run;
    std::atomic<int> pauses{0};
    live::PublishOptions options = quick();
    options.control = [&](live::RunRequest request) {
        pauses += request == live::RunRequest::pause ? 1 : 0;
        return obey(request);
    };
    live::Publisher obeys(*run.collector, options), refuses(*run.collector, quick());
    Watcher mayAsk(obeys.endpoint()), mayLook(refuses.endpoint());
    ASSERT_TRUE(mayAsk.becomes(ViewerState::connected));
    ASSERT_TRUE(mayLook.becomes(ViewerState::connected));
    mayAsk.viewer.request(live::RunRequest::pause);
    mayAsk.viewer.request(live::RunRequest::resume);
    mayLook.viewer.request(live::RunRequest::stop);
    ASSERT_TRUE(eventually([&] {
        mayAsk.poll();
        mayLook.poll();
        return mayAsk.all.replies.size() == 2 && mayLook.all.replies.size() == 1;
    }));
    EXPECT_TRUE(mayAsk.all.description->controllable);
    EXPECT_EQ(pauses, 1);
    EXPECT_TRUE(mayAsk.all.replies[0].accepted);
    EXPECT_EQ(mayAsk.all.replies[0].message, "pause");
    EXPECT_FALSE(mayAsk.all.replies[1].accepted);
    EXPECT_EQ(mayAsk.all.replies[1].message, "it is not paused");
    EXPECT_FALSE(mayLook.all.replies[0].accepted);
    EXPECT_EQ(mayLook.all.replies[0].request, live::RunRequest::stop);
}

TEST(Wire, NonsenseFromOutsideHurtsNobody)
{
    test::Run run;
    live::PublishOptions options = quick();
    options.control = obey;
    live::Publisher publisher(*run.collector, options);
    Watcher watcher(publisher.endpoint());
    ASSERT_TRUE(watcher.becomes(ViewerState::connected));

    std::mt19937 random(7);
    const std::vector<std::string> scraps = {"",
                                             "{",
                                             "{}",
                                             "[]",
                                             "null",
                                             "{\"v\":1}",
                                             "{\"v\":1,\"type\":7}",
                                             "{\"v\":99,\"type\":\"hello\"}",
                                             "{\"v\":1,\"type\":\"ack\",\"n\":18446744073709551615}",
                                             "{\"v\":1,\"type\":\"ack\",\"n\":-1}",
                                             "{\"v\":1,\"type\":\"control\",\"action\":\"explode\"}",
                                             "{\"v\":1,\"type\":\"control\",\"action\":{}}",
                                             "{\"v\":1,\"type\":\"hello\",\"run\":\"0123456789abcdef\",\"block\":"
                                             "18446744073709551615,\"spans\":1e300,\"kinds\":99999999}",
                                             "{\"v\":1,\"type\":\"hello\",\"run\":[[[[]]]]}",
                                             "{\"v\":1,\"type\":\"who\"}",
                                             std::string(2000, '['),
                                             "\xff\xfe\x00"};
    zmq::context_t context;
    for (int round = 0; round < 20; ++round) {
        zmq::socket_t stranger(context, zmq::socket_type::dealer);
        stranger.set(zmq::sockopt::linger, 1000);
        stranger.connect(publisher.endpoint());
        for (int message = 0; message < 30; ++message) {
            const int frames = 1 + static_cast<int>(random() % 4);
            for (int frame = 0; frame < frames; ++frame) {
                std::string text = scraps[random() % scraps.size()];
                if (random() % 4 == 0 && !text.empty())
                    text[random() % text.size()] = static_cast<char>(random());
                if (random() % 64 == 0)
                    text.assign(100'000, 'x'); // too long: ends the connection
                stranger.send(zmq::buffer(text), frame + 1 < frames ? zmq::send_flags::sndmore : zmq::send_flags::none);
            }
        }
    }
    EXPECT_TRUE(eventually([&] { return publisher.counts().ignoredMessages > 50; }));
    run.train(0, 3);
    EXPECT_TRUE(watcher.sees(12));
    EXPECT_EQ(watcher.viewer.state().state, ViewerState::connected);
}

TEST(Wire, ViewersBeyondTheLimitAreTold)
{
    test::Run run;
    live::PublishOptions options = quick();
    options.mostViewers = 1;
    live::Publisher publisher(*run.collector, options);
    Watcher first(publisher.endpoint());
    ASSERT_TRUE(first.becomes(ViewerState::connected));
    {
        Watcher second(publisher.endpoint());
        ASSERT_TRUE(second.becomes(ViewerState::refused));
        EXPECT_THAT(second.viewer.state().message, HasSubstr("room for one viewer, and others came first"));
    }
    EXPECT_EQ(publisher.counts().viewers, 1U);
}

TEST(Wire, AViewerThatLeavesIsForgottenAtOnce)
{
    test::Run run;
    live::Publisher publisher(*run.collector, quick());
    {
        Watcher watcher(publisher.endpoint());
        ASSERT_TRUE(watcher.becomes(ViewerState::connected));
    }
    EXPECT_TRUE(eventually([&] { return publisher.counts().viewers == 0; }, milliseconds(2000)));
}

TEST(Keys, OnlyAllowedViewersSeeARunThatOthersCanReach)
{
    const live::KeyPair server = live::makeKeyPair(), friendly = live::makeKeyPair(), stranger = live::makeKeyPair();
    test::Run run;
    live::PublishOptions options = quick("tcp://*:0");
    EXPECT_THROW(live::Publisher(*run.collector, options), sim::Error) << "anyone could look in";
    options.keys = {server, {friendly.publicKey}};
    live::Publisher publisher(*run.collector, options);
    const std::string port = publisher.endpoint().substr(publisher.endpoint().rfind(':'));
    const std::string endpoint = "tcp://127.0.0.1" + port;
    const auto with = [](const std::string& serverKey, const live::KeyPair& own) {
        live::ViewerOptions viewer;
        viewer.keys = {serverKey, own};
        return viewer;
    };
    Watcher allowed(endpoint, with(server.publicKey, friendly));
    Watcher refused(endpoint, with(server.publicKey, stranger));
    Watcher misled(endpoint, with(stranger.publicKey, friendly));
    Watcher plain(endpoint);
    run.train(0, 2);
    EXPECT_TRUE(allowed.sees(8)) << allowed.viewer.state().message;
    ASSERT_TRUE(refused.becomes(ViewerState::refused));
    EXPECT_THAT(refused.viewer.state().message, HasSubstr("refused the key " + stranger.publicKey));
    EXPECT_TRUE(misled.becomes(ViewerState::refused));
    EXPECT_THAT(misled.viewer.state().message, HasSubstr(stranger.publicKey));
    EXPECT_TRUE(plain.becomes(ViewerState::refused));
    EXPECT_THAT(plain.viewer.state().message, HasSubstr("demands keys"));
    for (const Watcher* watcher : {&refused, &misled, &plain})
        EXPECT_FALSE(watcher->all.description);
    EXPECT_GE(publisher.counts().refusedKeys, 1U);
}

TEST(Keys, FilesAreForTheirOwnerAndNeverOverwritten)
{
    const auto folder = freshFolder();
    const live::KeyPair keys = live::createKeyFiles(folder / "run.key");
    struct stat status {};
    ASSERT_EQ(::stat((folder / "run.key").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(live::readKeyPair(folder / "run.key").secretKey, keys.secretKey);
    EXPECT_EQ(live::readPublicKey((folder / "run.key.pub").string()), keys.publicKey);
    EXPECT_EQ(live::readPublicKey(keys.publicKey), keys.publicKey);
    EXPECT_EQ(live::readAllowedKeys(folder / "run.key.pub"), std::vector{keys.publicKey});
    EXPECT_THROW(live::createKeyFiles(folder / "run.key"), sim::Error);
    EXPECT_THROW(live::readKeyPair(folder / "run.key.pub"), sim::Error);
    EXPECT_THROW(live::readPublicKey("short"), sim::Error);
    std::filesystem::permissions(folder / "run.key", std::filesystem::perms::group_read, std::filesystem::perm_options::add);
    try {
        live::readKeyPair(folder / "run.key");
        ADD_FAILURE() << "a key that others can read was used";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("chmod 600"));
    }
    std::filesystem::remove_all(folder);
}

TEST(Keys, LocalEndpointsAreThisMachinesOnly)
{
    for (const char* endpoint : {"tcp://127.0.0.1:5555", "tcp://localhost:0", "tcp://[::1]:7", "ipc:///tmp/run"})
        EXPECT_TRUE(live::isLocalEndpoint(endpoint)) << endpoint;
    for (const char* endpoint :
         {"tcp://*:5555", "tcp://0.0.0.0:1", "tcp://eth0:1", "tcp://127.example.org:1", "tcp://[::]:1", "x"})
        EXPECT_FALSE(live::isLocalEndpoint(endpoint)) << endpoint;
}

} // namespace
