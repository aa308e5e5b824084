// Work that the processes of a run do together, phase by phase, as files are that all of them write.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace live {

/// Among the processes of a run: each gives a text, all get all of them, in the order of processes.
using ExchangeTexts = std::function<std::vector<std::string>(const std::string&)>;
/// Of a run of one process.
std::vector<std::string> exchangeWithNobody(const std::string&);

class Phases {
public:
    /// topic: what its errors begin with, "checkpoint".
    Phases(std::string topic, int process, const ExchangeTexts& exchange)
        : m_topic(std::move(topic)), m_process(process), m_exchange(exchange)
    {
    }
    int process() const { return m_process; }
    bool isFirst() const { return m_process == 0; }
    /// Does the work here and returns what it gave on each process, once all are through it. Where it throws on one, `undo` is
    /// called and sim::Error thrown on all, with the words of the first that failed.
    std::vector<nlohmann::json> together(const std::function<nlohmann::json()>& work,
                                         const std::function<void()>& undo = {}) const;

private:
    const std::string m_topic;
    const int m_process;
    const ExchangeTexts& m_exchange;
};

} // namespace live
