// The net below every reader: what none of its lines foresaw becomes a problem of the file like any other, instead of ending the
// program. For readers.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/files.h"
#include "sim/text/quoted.h"

#include <cstddef>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

namespace sim {

/// How the message of such a problem begins. Tests and fuzzers look for it: it never is the file's fault.
inline constexpr std::string_view kUnforeseen = "cannot be read, which is a mistake of this program: ";

/// Inside a catch block: the problem that the exception in flight stands for. An Error goes on as it is.
inline Problem unforeseenProblem(const std::string& file)
{
    try {
        throw;
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        return {file, "", "there is not enough memory to read it"};
    } catch (const std::exception& error) {
        return {file, "", std::string(kUnforeseen) + shownText(error.what())};
    }
}

/// What `read` gives; throws nothing but Error.
template <typename Read>
auto readSafely(const std::string& file, Read&& read)
{
    try {
        return read();
    } catch (...) {
        throw ScenarioError({unforeseenProblem(file)});
    }
}

/// A file's text; throws nothing but ScenarioError, with the file as the place.
inline std::string readNamedFile(const std::filesystem::path& path, std::size_t mostBytes, Pipes pipes = Pipes::refused)
{
    try {
        return readSafely(path.string(), [&] { return readFile(path, mostBytes, pipes); });
    } catch (const ScenarioError&) {
        throw;
    } catch (const Error& error) {
        // The message begins with the path; the problem has it of its own.
        const std::string message = error.what(), prefix = shownPlace(path.string()) + ": ";
        throw ScenarioError({{path.string(), "", message.starts_with(prefix) ? message.substr(prefix.size()) : message}});
    }
}

} // namespace sim
