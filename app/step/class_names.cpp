#include "app/step/class_names.h"

#include "sim/simulate/purpose_name.h"

#include <algorithm>

namespace app {

ClassNames::ClassNames(const sim::Trace& trace, const sim::Simulation* simulation)
    : m_othersWait(std::all_of(trace.kinds.begin(), trace.kinds.end(), [](const sim::SpanKind& kind) {
          return kind.opClass != sim::OpClass::other || kind.name.starts_with("wait ");
      }))
{
    for (std::size_t c = 0; c < m_names.size(); ++c)
        m_names[c] = sim::opClassName(static_cast<sim::OpClass>(c));
    if (simulation) {
        const std::string purpose = sim::purposeName(*simulation, sim::Dimension::dp);
        if (purpose != sim::dimensionName(sim::Dimension::dp))
            m_names[static_cast<std::size_t>(sim::OpClass::dpComm)] = purpose + " comm";
    }
    bool anyKnown = false, anyUnknown = false;
    for (const sim::SpanKind& kind : trace.kinds)
        if (kind.opClass == sim::OpClass::dpComm)
            (kind.group == sim::kUnknownUse ? anyUnknown : anyKnown) = true;
    if (anyUnknown)
        m_names[static_cast<std::size_t>(sim::OpClass::dpComm)] = anyKnown ? "dp comm, or unknown" : "comm of unknown use";
    if (m_othersWait)
        m_names[static_cast<std::size_t>(sim::OpClass::other)] = "waiting";
}

const std::string& ClassNames::ofLane(const sim::Track& track) const
{
    if (track.role == sim::TrackRole::communication)
        for (std::size_t c = 0; c < m_names.size(); ++c)
            if (track.name == sim::opClassName(static_cast<sim::OpClass>(c)))
                return m_names[c];
    return track.name;
}

void ClassNames::joinWith(const ClassNames& other)
{
    for (std::size_t c = 0; c < m_names.size(); ++c)
        if (m_names[c] != other.m_names[c])
            m_names[c] = sim::opClassName(static_cast<sim::OpClass>(c));
    m_othersWait = m_othersWait && other.m_othersWait;
}

} // namespace app
