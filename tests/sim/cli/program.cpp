#include "tests/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace test {

namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path = fs::temp_directory_path() / ("rankscope_cli_" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder()
    {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

} // namespace

fs::path scratch()
{
    static const Folder folder;
    return folder.path;
}

std::string read(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string write(const std::string& name, const std::string& text)
{
    const fs::path path = scratch() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
}

Outcome run(const std::string& arguments)
{
    return shell(RANKSCOPE_BIN_DIR "/rankscope-sim " + arguments);
}

Outcome shell(const std::string& line)
{
    const fs::path errors = scratch() / "stderr";
    const std::string command = "{ " + line + "\n} 2>" + errors.string();
    Outcome outcome;
    FILE* pipe = ::popen(command.c_str(), "r"); // NOLINT(cert-env33-c): the shell is what is tested through
    std::array<char, 65536> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
        outcome.out.append(buffer.data(), count);
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.err = read(errors);
    return outcome;
}

nlohmann::json runJson(const std::string& arguments)
{
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << ": " << outcome.err;
    nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << arguments
                                      << " prints more or less than one JSON document: " << outcome.out.substr(0, 200);
    return json;
}

std::string gallery(const std::string& start)
{
    for (const fs::path& file : galleryFiles())
        if (file.filename().string().starts_with(start))
            return file.string();
    ADD_FAILURE() << "no file of scenarios/ starts with " << start;
    return start;
}

std::vector<std::string> lines(const std::string& text)
{
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        all.push_back(line);
    return all;
}

} // namespace test
