// A started rankscope-live: with variables of its own, its words in files, ended at the latest with this object.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <sys/types.h>
#include <vector>

namespace test {

class Child {
public:
    /// `limits`: bytes that files it writes may have; 0: no limit.
    explicit Child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables = {},
                   std::size_t fileBytes = 0, const std::string& program = "rankscope-live");
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Exit code; 128 + signal where one ended it; -1 if it still runs after that long.
    int wait(std::chrono::milliseconds atMost = std::chrono::seconds(60));
    void signal(int number) const;
    bool isRunning();
    /// Processes that it has started.
    std::vector<pid_t> children() const;
    std::string out() const, err() const;
    /// Waits until it handles a signal itself.
    bool catches(int number, std::chrono::milliseconds atMost = std::chrono::seconds(60));
    /// Waits until it has said this on standard error.
    bool says(const std::string& text, std::chrono::milliseconds atMost = std::chrono::seconds(60));

private:
    bool waitUntil(const std::function<bool()>&, std::chrono::milliseconds atMost);

    std::filesystem::path m_out, m_err;
    pid_t m_id = -1;
    int m_code = -1;
    bool m_ended = false;
};

/// A folder of this process that goes away with it.
std::filesystem::path scratch();
/// Path of a file of scenarios/, by the beginning of its name: "64-".
std::string gallery(const std::string& start);
/// A loopback port that was free a moment ago.
int freePort();
/// Of a run that must succeed, as --json prints it.
nlohmann::json reportOf(std::vector<std::string> arguments,
                        const std::map<std::string, std::string>& variables = std::map<std::string, std::string>());
/// As torchrun sets it for one of the processes of a machine.
std::map<std::string, std::string> environmentOf(const std::string& process, const std::string& processes,
                                                 const std::string& port);

} // namespace test
