// How rankscope-sim and rankscope-live run a call and end: exit codes, and what is said of what went wrong.
#pragma once

#include "sim/cli/options.h"
#include "sim/cli/unknown_command.h"
#include "sim/text/failure_text.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace sim::cli {

inline constexpr std::string_view kOutOfMemory = "There is not enough memory for this\n";

/// nlohmann::json takes memory to destroy itself; where there is none that is an exception out of a destructor, which no catch
/// below can see.
[[noreturn]] inline void endedByException()
{
    try {
        if (const std::exception_ptr error = std::current_exception())
            std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        if (::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size()) >= 0)
            ::_exit(kBadInput);
    } catch (...) { // a mistake of this program: to be looked at where it is
    }
    std::abort();
}

/// What the program may take, where somebody has limited it.
inline void tellLimit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        std::cerr << "It may take " << limit.rlim_cur / (std::uint64_t{1} << 20U)
                  << " MiB (ulimit -v); raise that, or ask for less\n";
}

/// Runs the command that was chosen. `app` has all of them.
inline int runProgram(CLI::App& app, int argc, char** argv)
{
    std::set_terminate(endedByException);
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing, told and tidied up as a full disk is
    app.set_help_all_flag("--help-all", "Help of every command");
    app.require_subcommand(1);
    app.failure_message(callFailed);
    try {
        try {
            app.parse(argc, argv);
        } catch (const CLI::RuntimeError& error) { // a command that has said all itself
            return error.get_exit_code();
        } catch (const CLI::ParseError& error) { // --help and --version end here too
            if (const std::string message = unknownCommand(app, argc, argv); !message.empty())
                throw UsageError(message);
            if (app.exit(error) != 0)
                return kCalledWrongly;
        }
        std::cout.flush();
        if (!std::cout)
            throw Error("Standard output took only a part of the result");
        return kGood;
    } catch (const UsageError& error) {
        std::cerr << linesForAPerson(error.what());
        return kCalledWrongly;
    } catch (const std::bad_alloc&) {
        std::cerr << kOutOfMemory;
        tellLimit();
        return kBadInput;
    } catch (const std::exception& error) {
        std::cerr << linesForAPerson(failureText(error));
        return kBadInput;
    }
}

} // namespace sim::cli
