// rankscope-sim: everything the simulator can do, without a window.
#include "sim/cli/command.h"

#include "sim/cli/options.h"
#include "sim/cli/unknown_command.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr std::string_view kOutOfMemory = "There is not enough memory for this\n";

/// nlohmann::json takes memory to destroy itself; where there is none that is an exception out of a destructor, which no catch
/// below can see.
[[noreturn]] void endedByException()
{
    try {
        if (const std::exception_ptr error = std::current_exception())
            std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        if (::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size()) >= 0)
            ::_exit(sim::cli::ExitCode::kBadInput);
    } catch (...) { // a mistake of this program: to be looked at where it is
    }
    std::abort();
}

/// What the program may take, where somebody has limited it.
void tellLimit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        std::cerr << "It may take " << limit.rlim_cur / (std::uint64_t{1} << 20U)
                  << " MiB (ulimit -v); raise that, or ask for less\n";
}

} // namespace

int main(int argc, char** argv)
{
    using sim::cli::ExitCode;
    std::set_terminate(endedByException);
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing, told and tidied up as a full disk is
    CLI::App app("Simulates hybrid-parallel training: layouts, schedules, time, memory.", "rankscope-sim");
    app.set_version_flag("--version", "rankscope-sim " RANKSCOPE_VERSION);
    app.set_help_all_flag("--help-all", "Help of every command");
    app.require_subcommand(1);
    app.failure_message(sim::cli::callFailed);
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
    try {
        app.parse(argc, argv); // runs the chosen command
        std::cout.flush();
        if (!std::cout)
            throw sim::Error("Standard output took only a part of the result");
        return ExitCode::kGood;
    } catch (const CLI::RuntimeError& error) { // a command that has said all itself
        return error.get_exit_code();
    } catch (const CLI::ParseError& error) {
        if (const std::string message = sim::cli::unknownCommand(app, argc, argv); !message.empty()) {
            std::cerr << sim::cli::linesForAPerson(message);
            return ExitCode::kCalledWrongly;
        }
        const bool isAnswer = app.exit(error) == 0; // --help and --version end here too
        std::cout.flush();
        return !isAnswer ? ExitCode::kCalledWrongly : std::cout ? ExitCode::kGood : ExitCode::kBadInput;
    } catch (const sim::cli::UsageError& error) {
        std::cerr << sim::cli::linesForAPerson(error.what());
        return ExitCode::kCalledWrongly;
    } catch (const std::bad_alloc&) {
        std::cerr << kOutOfMemory;
        tellLimit();
        return ExitCode::kBadInput;
    } catch (const std::exception& error) {
        std::cerr << sim::cli::linesForAPerson(error.what());
        return ExitCode::kBadInput;
    }
}
