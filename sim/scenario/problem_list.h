// How the reader collects what is wrong with a file. Only the reader makes one; who counts problems asks it how many are listed.
#pragma once

#include "sim/scenario/document.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// The first problems, and how many there are besides: more help nobody, and a hostile file must not ask for gigabytes of
/// messages.
class ProblemList {
public:
    static constexpr std::size_t kMost = 1000;

    bool isFull() const { return m_problems.size() >= kMost; }
    void add(Problem problem)
    {
        if (!isFull())
            m_problems.push_back(std::move(problem));
        else
            countOneMore(problem.severity);
    }
    /// For a problem whose message is not worth making, as nobody will read it.
    void countOneMore(Severity severity = Severity::error)
    {
        ++m_left;
        if (severity == Severity::error)
            m_worstLeft = Severity::error;
    }
    /// With a last one that says how many were left out, if some were.
    std::vector<Problem> take(const std::string& file) &&
    {
        if (m_left > 0)
            m_problems.push_back(
                {file, "", "there are " + std::to_string(m_left) + " more problems than the " + std::to_string(kMost) + " listed",
                 m_worstLeft});
        return std::move(m_problems);
    }
    /// Whether problems were left out of a list that was taken: what is not in it may be wrong then too.
    static bool isCut(const std::vector<Problem>& taken) { return taken.size() > kMost; }

private:
    std::vector<Problem> m_problems;
    std::size_t m_left = 0;
    Severity m_worstLeft = Severity::warning;
};

} // namespace sim
