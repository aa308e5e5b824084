// rankscope-sim: everything the simulator can do, without a window.
#include "sim/cli/command.h"
#include "sim/cli/run_program.h"

int main(int argc, char** argv)
{
    CLI::App app("Simulates hybrid-parallel training: layouts, schedules, time, memory.", "rankscope-sim");
    app.set_version_flag("--version", "rankscope-sim " RANKSCOPE_VERSION);
    sim::cli::addValidate(app);
    sim::cli::addDescribe(app);
    sim::cli::addGroups(app);
    sim::cli::addSchedule(app);
    sim::cli::addSimulate(app);
    sim::cli::addMemory(app);
    sim::cli::addTraffic(app);
    sim::cli::addOps(app);
    sim::cli::addSweep(app);
    sim::cli::addBatch(app);
    sim::cli::addPlan(app);
    sim::cli::addLesson(app);
    sim::cli::addTrace(app);
    sim::cli::addImport(app);
    sim::cli::addExport(app);
    return sim::cli::runProgram(app, argc, argv);
}
