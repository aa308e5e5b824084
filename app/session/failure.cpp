#include "app/session/failure.h"

#include "app/session/file_kind.h"
#include "app/session/scenario_link.h"
#include "sim/error.h"

#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

namespace app {

std::string failureText()
{
    try {
        throw;
    } catch (const sim::Error& error) {
        return error.what();
    } catch (const std::bad_alloc&) {
        return "there is not enough memory for it";
    } catch (const std::exception& error) {
        return std::string("an error that should not be: ") + error.what();
    } catch (...) {
        return "an error that should not be, and that says nothing";
    }
}

Problems problemsOf(const QString& file, const std::function<Problems()>& use) noexcept
{
    Problems problems;
    try {
        problems = use();
    } catch (const sim::ScenarioError& error) {
        problems = error.problems();
    } catch (...) {
        std::string text = failureText();
        if (const std::string name = file.toStdString() + ": "; !file.isEmpty() && text.starts_with(name)) // said once
            text.erase(0, name.size());
        problems = {{{}, {}, std::move(text), sim::Severity::error}};
    }
    for (sim::Problem& problem : problems)
        if (problem.file.empty())
            problem.file = file.toStdString();
    return problems;
}

sim::ScenarioDocument readDocument(const QString& path)
{
    if (isScenarioLink(path)) {
        const std::string name = shortLink(path).toStdString();
        try {
            return sim::ScenarioDocument::parse(scenarioOfLink(path), name);
        } catch (const sim::ScenarioError&) {
            throw;
        } catch (const sim::Error& error) {
            throw sim::ScenarioError({{name, {}, error.what(), sim::Severity::error}});
        }
    }
    namespace fs = std::filesystem;
    const fs::path file(path.toStdU16String());
    std::error_code error; // what is not there is told by who reads it
    const fs::file_type type = fs::status(file, error).type();
    if (type == fs::file_type::fifo || type == fs::file_type::socket || type == fs::file_type::character ||
        type == fs::file_type::block)
        throw sim::ScenarioError({{path.toStdString(),
                                   {},
                                   "is a pipe, a socket or a device, not a file; save what comes out of it in a file first",
                                   sim::Severity::error}});
    constexpr std::streamsize kTold = 4096;
    std::string begin(static_cast<std::size_t>(kTold), '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.read(begin.data(), kTold);
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    if (const std::string kind = otherKind(begin); !kind.empty())
        throw sim::ScenarioError(
            {{path.toStdString(),
              {},
              "is " + kind + "; a scenario is a JSON file that begins with { \"format\": \"rankscope-scenario\" … }",
              sim::Severity::error}});
    return sim::ScenarioDocument::readFile(file);
}

} // namespace app
