// rankscope-live run in several processes whose command lines, files or ends are not alike.
#include "tests/live/cli/child.h"

#include <arpa/inet.h>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using nlohmann::json;
using test::Child;
using test::gallery;
using test::scratch;
using namespace std::chrono_literals;

using Arguments = std::vector<std::string>;

/// One process each, in their order, as torchrun starts them.
std::vector<std::unique_ptr<Child>> startAll(const std::vector<Arguments>& each, const std::string& master = "127.0.0.1")
{
    const std::string port = std::to_string(test::freePort()), count = std::to_string(each.size());
    std::vector<std::unique_ptr<Child>> children;
    for (std::size_t process = 0; process < each.size(); ++process) {
        const std::string number = std::to_string(process);
        children.push_back(std::make_unique<Child>(each[process], std::map<std::string, std::string>{{"RANK", number},
                                                                                                     {"WORLD_SIZE", count},
                                                                                                     {"LOCAL_RANK", number},
                                                                                                     {"LOCAL_WORLD_SIZE", count},
                                                                                                     {"MASTER_ADDR", master},
                                                                                                     {"MASTER_PORT", port}}));
    }
    return children;
}

Arguments addedTo(Arguments arguments, const Arguments& more)
{
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

const Arguments kTiny = {"run", gallery("57-"), "--device", "cpu", "--workers", "1"};

TEST(RankscopeLiveProcesses, ThatWereGivenDifferentJobsDoNotTrain)
{
    const std::string folder = (scratch() / "different").string();
    const struct {
        Arguments first, second;
        std::string difference;
    } cases[] = {
        {{}, {"--set", "live.learning_rate=0.1"}, "live.learning_rate is 0.1 here"},
        {{}, {"--set", "training.sequence_length=64"}, "training.sequence_length is 64 here"},
        {{"--steps", "3"}, {"--steps", "4"}, "live.steps is 4 here, 3 there"},
        {{"--checkpoint", folder}, {}, "--checkpoint is false here, true there"},
    };
    const Arguments base = addedTo(kTiny, {"--set", "live.steps=2"});
    for (const auto& [first, second, difference] : cases) {
        SCOPED_TRACE(difference);
        const auto children = startAll({addedTo(base, first), addedTo(base, second)});
        for (const auto& child : children) {
            EXPECT_EQ(child->wait(20s), 1);
            EXPECT_NE(child->err().find(difference), std::string::npos) << child->err();
        }
        EXPECT_FALSE(std::filesystem::exists(folder)) << "nothing is written before all have looked";
    }
}

TEST(RankscopeLiveProcesses, GoOnFromTheCheckpointThatTheFirstHasFound)
{
    const std::filesystem::path first = scratch() / "as first sees it", second = scratch() / "as second sees it";
    Child before(addedTo(kTiny, {"--steps", "4", "--checkpoint", second.string(), "--every", "2"}));
    ASSERT_EQ(before.wait(), 0) << before.err();
    std::filesystem::create_directories(first);
    std::filesystem::copy(second / "step-00000002", first / "step-00000002", std::filesystem::copy_options::recursive);
    const auto report = scratch() / "from two.json";
    const Arguments more = {"--steps", "5", "--report", report.string(), "--resume"};
    const auto children =
        startAll({addedTo(addedTo(kTiny, more), {first.string()}), addedTo(addedTo(kTiny, more), {second.string()})});
    for (const auto& child : children)
        ASSERT_EQ(child->wait(20s), 0) << child->err();
    EXPECT_EQ(json::parse(std::ifstream(report))["losses"].size(), 3U);

    const auto others = startAll({addedTo(addedTo(kTiny, more), {(first / "step-00000002").string()}),
                                  addedTo(addedTo(kTiny, more), {(second / "step-00000004").string()})});
    for (const auto& child : others) {
        EXPECT_EQ(child->wait(20s), 1);
        EXPECT_NE(child->err().find("--resume.step is 4 here, 2 there"), std::string::npos) << child->err();
    }
}

bool hasIpv6()
{
    const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    const bool can = socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return can;
}

TEST(RankscopeLiveProcesses, MeetOverIpv6)
{
    if (!hasIpv6())
        GTEST_SKIP() << "no IPv6 on this machine";
    for (const auto& child : startAll({addedTo(kTiny, {"--steps", "1"}), addedTo(kTiny, {"--steps", "1"})}, "::1"))
        EXPECT_EQ(child->wait(20s), 0) << child->err();
}

} // namespace
