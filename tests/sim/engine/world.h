// A scenario made ready for the engine, with all that it runs on, for tests that change some of it first.
#pragma once

#include "sim/engine/engine.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/families/families.h"

namespace test {

/// `full`: every rank is a class of its own.
struct World {
    explicit World(const sim::Scenario& s, bool full = false)
        : scenario(s), mesh(s.layout), placement(s.layout, s.cluster), schedule(sim::makeSchedule(sim::scheduleRequest(s))),
          program(sim::lowerProgram(s, schedule)), classes(sim::makeRankClasses(s, mesh, placement, schedule, full)),
          prices(sim::priceProgram(s, program, classes))
    {
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
