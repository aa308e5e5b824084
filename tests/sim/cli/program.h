// Runs the built rankscope-sim as a script would.
#pragma once

#include "tests/support/catalogue.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace test {

struct Outcome {
    int code = -1; ///< exit code, -1 if it crashed
    std::string out, err;
};

/// `arguments` as in a shell, without the program's name.
Outcome run(const std::string& arguments);
/// A line of a shell, for what more than the program takes.
Outcome shell(const std::string& line);
/// Standard output of a run that must succeed, as one JSON document with nothing around it.
nlohmann::json runJson(const std::string& arguments);

/// Path of a file of scenarios/, by the beginning of its name: "21-".
std::string gallery(const std::string& start);
/// A folder of this process that goes away with it.
std::filesystem::path scratch();
/// Writes a file into it; returns its path.
std::string write(const std::string& name, const std::string& text);
std::string read(const std::filesystem::path&);

std::vector<std::string> lines(const std::string&);

} // namespace test
