// A word that is no command is answered with the nearest ones that are; shared by the programs.
#pragma once

#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace sim::cli {

/// The answer to what stands where a command should, if it is none; else "".
inline std::string unknownCommand(const CLI::App& app, int argc, const char* const* argv)
{
    const CLI::App* above = &app;
    int place = 1;
    for (; !above->get_subcommands().empty(); ++place) // "lesson" of "lesson chek"
        above = above->get_subcommands().front();
    std::vector<std::string> names;
    for (const CLI::App* command : above->get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
        names.push_back(command->get_name());
    if (place >= argc || argv[place][0] == '-' || names.empty())
        return {};
    const std::string before = above == &app ? std::string() : above->get_name() + " ";
    return "There is no command " + before + quotedText(argv[place]) + nearestWords(argv[place], names);
}

} // namespace sim::cli
