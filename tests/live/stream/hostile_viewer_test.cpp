// Anyone who finds a run's port can connect to it: whatever they send, or do not send, training goes on in the memory it had, and
// those who want to look find a place.
#include "live/stream/publisher.h"
#include "live/stream/viewer.h"
#include "run_for_tests.h"
#include "tests/live/support/raw_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace {

using live::ViewerState;
using std::chrono::milliseconds;
using test::eventually;
using test::RawPeer;
using testing::HasSubstr;

/// A run that is watched by strangers, and what it says of them.
struct WatchedRun {
    test::Run run;
    std::mutex mutex;
    std::string log;
    live::Publisher publisher;

    explicit WatchedRun(std::size_t mostViewers = 32) : publisher(*run.collector, options(mostViewers)) {}
    live::PublishOptions options(std::size_t mostViewers)
    {
        live::PublishOptions options;
        options.interval = milliseconds(5);
        options.mostViewers = mostViewers;
        options.log = [this](const std::string& line) {
            const std::lock_guard lock(mutex);
            log += line + "\n";
        };
        return options;
    }
    int port() const { return test::portOf(publisher.endpoint()); }
    std::vector<RawPeer> greeted(int count) const
    {
        std::vector<RawPeer> peers;
        for (int i = 0; i < count; ++i) {
            peers.push_back(RawPeer::connectTo(port()));
            EXPECT_TRUE(peers.back().greet("DEALER"));
        }
        return peers;
    }
    std::string logged()
    {
        const std::lock_guard lock(mutex);
        return log;
    }
    /// Whether somebody who comes now is shown what is trained now.
    testing::AssertionResult showsANewcomerAStep(int step)
    {
        live::Viewer viewer(publisher.endpoint());
        run.train(step, 1);
        live::ViewerUpdate update;
        std::size_t spans = 0;
        const bool seen = eventually([&] {
            viewer.poll(update);
            spans += update.spans.size();
            return spans >= 4;
        });
        return (seen ? testing::AssertionSuccess() : testing::AssertionFailure()) << viewer.state().message;
    }
};

std::string hello()
{
    return RawPeer::part(R"({"v":1,"type":"hello"})", false);
}

TEST(HostileViewer, AMessageWithoutAnEndIsCutOff)
{
    WatchedRun watched;
    const std::int64_t before = test::residentMegabytes();
    constexpr std::size_t kMost = std::size_t{1500} << 20U;
    for (const bool asViewer : {false, true}) {
        RawPeer attacker = RawPeer::connectTo(watched.port());
        ASSERT_TRUE(attacker.greet("DEALER"));
        if (asViewer) {
            ASSERT_TRUE(attacker.send(hello()));
        }
        EXPECT_LT(attacker.sendWithoutEnd(kMost), kMost);
    }
    EXPECT_LT(test::residentMegabytes() - before, 300);
    EXPECT_TRUE(eventually([&] { return watched.publisher.counts().cutConnections == 2; }));
    EXPECT_THAT(watched.logged(), HasSubstr("bytes of a message that did not end, where at most 65536 are taken"));
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
}

TEST(HostileViewer, EmptyPartsWithoutAnEndAreCutOffToo)
{
    WatchedRun watched;
    RawPeer attacker = RawPeer::connectTo(watched.port());
    ASSERT_TRUE(attacker.greet("DEALER"));
    const std::int64_t before = test::residentMegabytes();
    std::string parts;
    for (int i = 0; i < 10'000; ++i)
        parts += RawPeer::part("", true);
    std::size_t sent = 0;
    while (sent < (std::size_t{100} << 20U) && attacker.send(parts))
        sent += parts.size();
    EXPECT_LT(sent, std::size_t{100} << 20U);
    EXPECT_LT(test::residentMegabytes() - before, 300);
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
}

TEST(HostileViewer, ThoseWhoFallSilentGiveTheirPlacesBack)
{
    WatchedRun watched;
    std::vector<RawPeer> silent = watched.greeted(40);
    for (RawPeer& peer : silent)
        ASSERT_TRUE(peer.send(hello()));
    ASSERT_TRUE(eventually([&] { return watched.publisher.counts().viewers == 32; }));
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
}

TEST(HostileViewer, ThoseWhoOnlySayHelloDoNotKeepOthersOut)
{
    WatchedRun watched;
    std::vector<RawPeer> loud = watched.greeted(120); // nearly all the connections that 32 places have
    std::jthread shouting([&](const std::stop_token& stop) {
        for (; !stop.stop_requested(); std::this_thread::sleep_for(milliseconds(1)))
            for (RawPeer& peer : loud)
                peer.send(hello());
    });
    ASSERT_TRUE(eventually([&] { return watched.publisher.counts().viewers == 32; }));
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
}

TEST(HostileViewer, ConnectionsWithoutAHelloAreFewAndShort)
{
    WatchedRun watched(4);
    std::vector<RawPeer> mute; // half of them not even shake hands
    for (int i = 0; i < 100; ++i) {
        mute.push_back(RawPeer::connectTo(watched.port()));
        if (i % 2 == 0)
            mute.back().greet("DEALER");
    }
    const auto open = [&] { return std::count_if(mute.begin(), mute.end(), [](const RawPeer& peer) { return !peer.isCut(); }); };
    EXPECT_TRUE(eventually([&] { return open() <= 16; })) << open() << " are open";
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
    EXPECT_TRUE(eventually([&] { return open() == 0; })) << open() << " are open for ever";
    EXPECT_THAT(watched.logged(), HasSubstr("where at most 16 can be"));
}

TEST(HostileViewer, HellosAgainAndAgainAreAnsweredOnce)
{
    WatchedRun watched;
    watched.run.train(0, 50);
    const std::int64_t before = test::residentMegabytes();
    RawPeer attacker = RawPeer::connectTo(watched.port());
    ASSERT_TRUE(attacker.greet("DEALER"));
    for (int i = 0; i < 20'000 && attacker.send(hello()); ++i)
        ;
    EXPECT_TRUE(watched.showsANewcomerAStep(50));
    EXPECT_LT(test::residentMegabytes() - before, 100);
    EXPECT_LE(watched.publisher.counts().bytesSent, 1'000'000U);
}

TEST(HostileViewer, BracketsWithinBracketsAreToldAndSurvived)
{
    WatchedRun watched;
    RawPeer attacker = RawPeer::connectTo(watched.port());
    ASSERT_TRUE(attacker.greet("DEALER"));
    ASSERT_TRUE(attacker.send(RawPeer::part(std::string(4000, '['), false)));
    EXPECT_THAT(attacker.receive(100), HasSubstr("5 brackets within each other in one header, where at most 4"));
    EXPECT_TRUE(watched.showsANewcomerAStep(0));
}

} // namespace
