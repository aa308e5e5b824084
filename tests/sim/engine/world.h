// A scenario made ready for the engine, with all that it runs on, for tests that change some of it first.
#pragma once

#include "sim/engine/engine.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace test {

/// Nobody shares anything, and kernels do not mind what runs beside them.
inline sim::PricedProgram apart(sim::PricedProgram prices)
{
    for (sim::OpUses& uses : prices.uses)
        for (std::vector<sim::PortUse>& pass : uses)
            std::fill(pass.begin(), pass.end(), sim::PortUse{});
    std::fill(prices.sendUse.begin(), prices.sendUse.end(), sim::PortUse{});
    prices.besideTransfers = prices.besideAllToAll = 1;
    return prices;
}

/// All times are so many times as long.
inline void stretch(sim::PricedProgram& prices, std::int64_t times)
{
    for (sim::OpDurations& durations : prices.durations)
        for (std::vector<std::int64_t>& pass : durations)
            for (std::int64_t& ns : pass)
                ns *= times;
    for (std::int64_t& ns : prices.sendNs)
        ns *= times;
    for (sim::PassLaunches& pass : prices.launches) {
        pass.ns *= times;
        for (sim::OpLaunch& op : pass.ops) {
            op.startedNs *= op.startedNs == sim::OpLaunch::kNever ? 1 : times;
            op.askedNs *= op.asks() ? times : 1;
        }
    }
}

/// `full`: every rank is a class of its own.
struct World {
    explicit World(const sim::Scenario& s, bool full = false)
        : scenario(s), mesh(s.layout), placement(s.layout, s.cluster), schedule(sim::makeSchedule(sim::scheduleRequest(s))),
          program(sim::lowerProgram(s, schedule)), classes(sim::makeRankClasses(s, mesh, placement, schedule, full)),
          prices(sim::priceProgram(s, program, classes))
    {
    }
    /// Every receive is posted on a stream of its own, in the order of use, `ahead` passes before the one that needs it.
    void postReceives(std::size_t ahead)
    {
        const auto pass = static_cast<std::uint32_t>(program.passes.size());
        program.passes.emplace_back().ops.push_back({.kind = sim::OpKind::post, .stream = sim::Stream::replicas});
        program.passes.back().shapes.resize(1);
        for (sim::OpDurations& durations : prices.durations)
            durations.push_back({0});
        for (sim::OpUses& uses : prices.uses)
            uses.emplace_back();
        if (!prices.fastest.empty())
            prices.fastest.push_back({0});
        for (sim::RankProgram& rank : program.ranks) {
            std::vector<sim::Step> steps;
            std::size_t posted = 0;
            for (std::size_t i = 0; i < rank.steps.size(); ++i) {
                for (; posted < rank.steps.size() && posted <= i + ahead; ++posted)
                    if (sim::Step post = rank.steps[posted]; post.receiveSlot != sim::kNoSlot) {
                        post.pass = pass;
                        post.action = -1;
                        post.sendSlot = sim::kNoSlot;
                        post.sendTo = -1;
                        steps.push_back(post);
                    }
                steps.push_back(rank.steps[i]);
            }
            rank.opCount += static_cast<std::int64_t>(steps.size() - rank.steps.size());
            rank.postsReceives = rank.slots > 0;
            rank.steps = std::move(steps);
        }
    }
    sim::EngineResult run() const { return sim::runEngine(program, classes, prices); }

    sim::Scenario scenario;
    sim::Mesh mesh;
    sim::Placement placement;
    sim::Schedule schedule;
    sim::Program program;
    sim::RankClasses classes;
    sim::PricedProgram prices;
};

} // namespace test
