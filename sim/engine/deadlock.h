// What is told of a step that never ends: the circle in which ranks wait for each other.
#pragma once

#include "sim/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim {

enum class WaitReason : std::uint8_t {
    partner, ///< another member of the collective, or the other end of the message, has not come to it
    order,   ///< comes later on its stream or in its rank's program
    input,   ///< needs a message
};

/// A step of a class of ranks that waits for another: indices as in RankClasses and RankProgram::steps.
struct EngineWait {
    int classIndex = 0;
    std::size_t step = 0;
    int neededClass = 0;
    std::size_t neededStep = 0;
    WaitReason reason = WaitReason::order;
};

class Deadlock : public Error {
public:
    Deadlock(const std::string& message, std::vector<EngineWait> circle) : Error(message), m_circle(std::move(circle)) {}
    /// Each one's needed step is the next one's waiting step. Empty only where what is waited for is in no program.
    const std::vector<EngineWait>& circle() const { return m_circle; }

private:
    std::vector<EngineWait> m_circle;
};

} // namespace sim
