// rankscope-live: really trains a scenario.
#include "live/cli/command.h"

#include "live/stream/open_files.h"
#include "sim/cli/run_program.h"

#include <csignal>

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN); // whoever stops reading what it says does not end a training
    live::raiseOpenFiles();        // a connection a rank, viewer and process
    CLI::App app("Really trains the job of a scenario, laid out as it says, and streams its trace.", "rankscope-live");
    app.set_version_flag("--version", "rankscope-live " RANKSCOPE_VERSION);
    live::cli::addRun(app);
    live::cli::addCollect(app);
    live::cli::addKeys(app);
    live::cli::addProfile(app);
    live::cli::addValidate(app);
    live::cli::addDoctor(app);
    return sim::cli::runProgram(app, argc, argv);
}
