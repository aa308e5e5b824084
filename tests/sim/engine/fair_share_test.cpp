#include "sim/engine/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace sim;

namespace {

constexpr std::uint32_t kAll = kWholePort;

/// The rates of transfers that begin together, as shares of their full rate.
struct Rates {
    explicit Rates(const std::vector<std::vector<FairShare::Claim>>& claims, int ports = 8)
        : fair(ports, static_cast<int>(claims.size()))
    {
        for (std::size_t i = 0; i < claims.size(); ++i)
            fair.begin(static_cast<int>(i), claims[i]);
        now.assign(claims.size(), 1);
        settle();
    }
    void settle()
    {
        for (const auto& [transfer, rate] : fair.settle())
            now[static_cast<std::size_t>(transfer)] = static_cast<double>(rate) / FairShare::kFullRate;
    }
    FairShare fair;
    std::vector<double> now;
};

} // namespace

TEST(FairShare, OneAloneHasItsFullRate)
{
    EXPECT_EQ(Rates({{{0, kAll}}}).now, (std::vector<double>{1}));
}

TEST(FairShare, TwoOnAPortHaveHalfOfItEach)
{
    EXPECT_EQ(Rates({{{0, kAll}}, {{0, kAll}}}).now, (std::vector<double>{0.5, 0.5}));
}

TEST(FairShare, WhoStandsForSeveralRanksHasTheShareOfSoMany)
{
    // Four and one on a card: as five that are counted one by one.
    const Rates folded({{{.port = 0, .use = kAll, .ranks = 4}}, {{0, kAll}}});
    const Rates full({{{0, kAll}}, {{0, kAll}}, {{0, kAll}}, {{0, kAll}}, {{0, kAll}}});
    EXPECT_EQ(folded.now, (std::vector<double>{full.now[0], full.now[4]}));
    EXPECT_NEAR(folded.now[0], 0.2, 1e-5);
    // One that is several ranks of the card itself.
    EXPECT_EQ(Rates({{{0, kAll / 4}, {0, kAll / 4}, {0, kAll / 4}, {0, kAll / 4}}}).now, (std::vector<double>{1}));
    EXPECT_EQ(Rates({{{0, kAll / 4}, {0, kAll / 4}, {0, kAll / 4}, {0, kAll / 4}}, {{0, kAll}}}).now,
              Rates({{{.port = 0, .use = kAll / 4, .ranks = 4}}, {{0, kAll}}}).now);
    EXPECT_EQ(Rates({{{.port = 0, .use = kAll / 8, .ranks = 8}}}).now, (std::vector<double>{1}));
}

TEST(FairShare, WhatAPortCanCarryTogetherIsNotSlowed)
{
    EXPECT_EQ(Rates({{{0, kAll / 4}}, {{0, kAll / 2}}}).now, (std::vector<double>{1, 1}));
}

TEST(FairShare, WhoWantsLittleHasItAndTheOthersShareTheRest)
{
    const Rates rates({{{0, kAll / 5}}, {{0, kAll}}, {{0, kAll}}});
    EXPECT_NEAR(rates.now[0], 1, 1e-5);
    EXPECT_NEAR(rates.now[1], 0.4, 1e-5);
    EXPECT_NEAR(rates.now[2], 0.4, 1e-5);
}

/// Bertsekas and Gallager's picture: who is held up on one port leaves more of another.
TEST(FairShare, WhatOneCannotUseElsewhereGoesToTheOthers)
{
    const Rates rates({{{0, kAll}, {1, kAll}}, {{0, kAll}}, {{0, kAll}}, {{1, kAll}}});
    EXPECT_NEAR(rates.now[0], 1.0 / 3, 1e-5);
    EXPECT_NEAR(rates.now[1], 1.0 / 3, 1e-5);
    EXPECT_NEAR(rates.now[2], 1.0 / 3, 1e-5);
    EXPECT_NEAR(rates.now[3], 2.0 / 3, 1e-5);
}

TEST(FairShare, WhenOneEndsTheOthersGetFaster)
{
    Rates rates({{{0, kAll}}, {{0, kAll}, {1, kAll}}, {{1, kAll}}});
    EXPECT_EQ(rates.now, (std::vector<double>{0.5, 0.5, 0.5}));
    rates.fair.end(0);
    rates.settle();
    EXPECT_EQ(rates.now[1], 0.5);
    rates.fair.end(2);
    rates.settle();
    EXPECT_EQ(rates.now[1], 1);
}

/// What makes rates max-min fair: no port carries more than it can, and whoever is slowed crosses a full port on which nobody
/// takes more than it does. And they are the same in whatever order transfers come.
TEST(FairShare, RandomTransfersAreSharedFairly)
{
    std::mt19937 random(11);
    const auto draw = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    for (int round = 0; round < 300; ++round) {
        const int ports = 1 + draw(5);
        std::vector<std::vector<FairShare::Claim>> claims(static_cast<std::size_t>(1 + draw(8)));
        for (auto& of : claims)
            for (int port = 0; port < ports; ++port)
                if (draw(2) > 0)
                    of.push_back({port, kAll / 16 * static_cast<std::uint32_t>(1 + draw(15))});
        const Rates rates(claims);

        constexpr double kRounding = 1e-4;
        std::map<int, double> load;
        const auto taken = [&](std::size_t i, const FairShare::Claim& claim) { return rates.now[i] * claim.use / kAll; };
        for (std::size_t i = 0; i < claims.size(); ++i)
            for (const FairShare::Claim& claim : claims[i])
                load[claim.port] += taken(i, claim);
        for (const auto& [port, sum] : load)
            EXPECT_LE(sum, 1 + kRounding);
        const auto speed = [&](std::size_t i) {
            double most = 0;
            for (const FairShare::Claim& claim : claims[i])
                most = std::max(most, taken(i, claim));
            return most;
        };
        for (std::size_t i = 0; i < claims.size(); ++i) {
            if (rates.now[i] == 1)
                continue;
            EXPECT_TRUE(std::any_of(claims[i].begin(), claims[i].end(), [&](const FairShare::Claim& claim) {
                if (load.at(claim.port) < 1 - kRounding)
                    return false;
                for (std::size_t k = 0; k < claims.size(); ++k)
                    for (const FairShare::Claim& other : claims[k])
                        if (other.port == claim.port && speed(k) > speed(i) + kRounding)
                            return false;
                return true;
            }));
        }

        std::vector<std::vector<FairShare::Claim>> turned(claims.rbegin(), claims.rend());
        std::vector<double> again = Rates(turned).now;
        std::reverse(again.begin(), again.end());
        EXPECT_EQ(again, rates.now);
    }
}
