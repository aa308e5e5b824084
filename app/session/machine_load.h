// How busy this machine is with what is not ours: measured times mean little while others take its cores.
#pragma once

#include <QtGlobal>

#include <map>
#include <optional>
#include <span>

namespace app {

class MachineLoad {
public:
    /// Cores that other processes than ours used since the last look, from 0 to all of them; nothing at the first look, too soon
    /// after the last, or where the system does not tell (it is read from /proc).
    std::optional<double> othersCores(std::span<const qint64> ours);

private:
    struct Ticks {
        double all = 0, busy = 0;     ///< of all cores, since the machine started
        std::map<qint64, double> own; ///< [process]
    };
    std::optional<Ticks> m_last;
};

} // namespace app
