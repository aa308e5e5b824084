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
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())
        return {};
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
        names.push_back(command->get_name());
    return "There is no command " + sim::quotedText(argv[1]) + sim::nearestWords(argv[1], names);
}

} // namespace sim::cli
