// rankscope-sim: everything the simulator can do, without a window.
#include "sim/cli/command.h"

#include <iostream>

int main(int argc, char** argv)
{
    CLI::App app("Simulates hybrid-parallel training: layouts, schedules, time, memory.", "rankscope-sim");
    app.set_version_flag("--version", "rankscope-sim " RANKSCOPE_VERSION);
    app.set_help_all_flag("--help-all", "Help of every command");
    app.require_subcommand(1);
    app.option_defaults()->always_capture_default(false);
    sim::cli::addValidate(app);
    sim::cli::addDescribe(app);
    sim::cli::addGroups(app);
    sim::cli::addSchedule(app);
    sim::cli::addSimulate(app);
    sim::cli::addMemory(app);
    sim::cli::addSweep(app);
    try {
        app.parse(argc, argv); // runs the chosen command
        std::cout.flush();
        return std::cout ? sim::cli::kGood : sim::cli::kBadInput;
    } catch (const CLI::RuntimeError& error) { // a command that has said all itself
        return error.get_exit_code();
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? sim::cli::kGood : sim::cli::kCalledWrongly;
    } catch (const sim::cli::UsageError& error) {
        std::cerr << error.what() << "\n";
        return sim::cli::kCalledWrongly;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return sim::cli::kBadInput;
    }
}
