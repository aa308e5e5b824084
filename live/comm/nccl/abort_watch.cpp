#include "live/comm/nccl/abort_watch.h"

#include <utility>

namespace live::cuda {

AbortWatch::AbortWatch(std::chrono::milliseconds setUpWithin, Duties duties)
    : m_setUpWithin(setUpWithin), m_duties(std::move(duties)), m_thread([this] { watch(); })
{
}

void AbortWatch::end()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_wake.notify_all();
    if (m_thread.joinable())
        m_thread.join();
}

void AbortWatch::setsUp(const std::string& what)
{
    const std::lock_guard lock(m_mutex);
    m_setsUp = what;
    m_setUpSince = std::chrono::steady_clock::now();
}

void AbortWatch::request(const std::string& why)
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_why.empty())
            m_why = why;
        m_requested = true;
    }
    m_wake.notify_all();
}

std::string AbortWatch::reason()
{
    const std::lock_guard lock(m_mutex);
    return m_why;
}

void AbortWatch::watch()
{
    constexpr std::chrono::milliseconds kPeriod{50};
    bool aborted = false;
    for (;;) {
        std::string why, late;
        bool isRequested = false;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait_for(lock, kPeriod, [&] { return m_ending || (m_requested && !aborted); });
            if (m_ending)
                return;
            why = m_why;
            isRequested = m_requested;
            if (!m_setsUp.empty() && std::chrono::steady_clock::now() - m_setUpSince > m_setUpWithin)
                late = std::exchange(m_setsUp, "");
        }
        if (!late.empty()) {
            request("NCCL has not set up " + late + " within " + std::to_string(m_setUpWithin.count()) +
                    " ms: one of them has not come to it, or cannot be reached. NCCL_DEBUG=INFO tells more, and "
                    "NCCL_SOCKET_IFNAME chooses the network.");
            continue;
        }
        if (isRequested && !aborted) {
            aborted = true;
            m_duties.abort(why);
        } else if (!aborted) {
            m_duties.look();
        }
    }
}

} // namespace live::cuda
