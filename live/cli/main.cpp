// rankscope-live: really trains a scenario.
#include "live/cli/command.h"

#include "sim/cli/options.h"
#include "sim/cli/unknown_command.h"

#include <csignal>
#include <iostream>

int main(int argc, char** argv)
{
    using live::cli::ExitCode;
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing, told and tidied up as a full disk is
    std::signal(SIGPIPE, SIG_IGN); // nor does whoever stops reading what it says end a training
    CLI::App app("Really trains the job of a scenario, laid out as it says, and streams its trace.", "rankscope-live");
    app.set_version_flag("--version", "rankscope-live " RANKSCOPE_VERSION);
    app.set_help_all_flag("--help-all", "Help of every command");
    app.require_subcommand(1);
    app.failure_message(sim::cli::callFailed);
    live::cli::addRun(app);
    live::cli::addCollect(app);
    live::cli::addKeys(app);
    live::cli::addProfile(app);
    live::cli::addValidate(app);
    live::cli::addDoctor(app);
    try {
        app.parse(argc, argv); // runs the chosen command
        std::cout.flush();
        if (!std::cout)
            throw sim::Error("standard output took only a part of the result");
        return ExitCode::kGood;
    } catch (const CLI::ParseError& error) {
        if (const std::string message = sim::cli::unknownCommand(app, argc, argv); !message.empty()) {
            std::cerr << message << "\n";
            return ExitCode::kCalledWrongly;
        }
        return app.exit(error) == 0 ? ExitCode::kGood : ExitCode::kCalledWrongly; // --help and --version end here too
    } catch (const std::bad_alloc&) {
        std::cerr << "there is not enough memory for this\n";
        return ExitCode::kBadInput;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return ExitCode::kBadInput;
    }
}
