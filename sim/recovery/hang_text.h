// What is said of a hang: its title and detail, for a person.
#pragma once

#include "sim/recovery/call_standing.h"
#include "sim/recovery/hang.h"

#include <map>
#include <string>
#include <vector>

namespace sim {

/// Of those that wait in a hang's call, who asked for what, where, and on whose devices it has not begun.
struct AskedOfHang {
    std::map<Exchange, std::vector<int>> exchanges;
    std::map<std::string, std::vector<int>> askers;
    std::vector<int> notBegun;
};

class HangText {
public:
    explicit HangText(const CallStanding& standing) : m_standing(standing) {}

    /// Title and detail of a collective that some wait in.
    void describe(Hang& hang, const CallsOfGroup& calls, const AskedOfHang& asked) const;
    /// Of a call that counts alone say is over on some, and not on those that wait.
    void describeCounts(Hang& hang, const std::vector<int>& over) const;
    /// Of a send and its receive, neither of which is over.
    void describeBoth(Hang& hang, const CallOfRank& send, const CallOfRank& receive) const;
    /// Of a send or receive whose other end has not come, or is not known.
    void describeOne(Hang& hang, const CallOfRank& came, const CallsOfGroup& calls) const;
    /// Of ranks that stopped in what others have ended.
    void describeStopped(Hang& hang) const;
    static std::string circleText(const std::vector<int>& circle); ///< each waits for the next

private:
    std::string groupText(std::int32_t group) const;
    const char* recordedOf(const std::vector<int>& unknown) const;
    void tellUnknown(const std::vector<int>& unknown, std::vector<std::string>& told) const;
    /// Of a rank that has not come: what it did last in the group, and where it waits meanwhile.
    std::string lastOf(int rank, std::int32_t group, const CallsOfGroup& calls) const;

    const CallStanding& m_standing;
};

} // namespace sim
