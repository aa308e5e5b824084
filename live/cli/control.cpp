#include "live/cli/control.h"

#include "sim/error.h"

#include <chrono>
#include <csignal>
#include <cstdlib>

namespace live::cli {
namespace {

std::atomic<int> g_signals{0}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a signal has no other way in

void noteSignal(int)
{
    constexpr int kImpatient = 3, kInterrupted = 130;
    if (g_signals.fetch_add(1) + 1 >= kImpatient)
        std::_Exit(kInterrupted);
}

} // namespace

Control::Control(bool canCheckpoint, bool alone) : m_canCheckpoint(canCheckpoint), m_alone(alone) {}

void Control::catchSignals()
{
    std::signal(SIGINT, noteSignal);
    std::signal(SIGTERM, noteSignal);
    if (std::signal(SIGHUP, noteSignal) == SIG_IGN) // a terminal that closes stops the run as Ctrl-C does, but for nohup's
        std::signal(SIGHUP, SIG_IGN);
}

void Control::set(std::atomic<bool>& flag, bool value)
{
    const std::lock_guard lock(m_mutex);
    flag = value;
    m_changed.notify_all();
}

std::string Control::request(RunRequest request)
{
    switch (request) {
    case RunRequest::pause:
        if (!m_alone)
            throw sim::Error("a run of several processes cannot pause: the others would take it for a failure");
        set(m_paused, true);
        return "pauses after this step";
    case RunRequest::resume:
        set(m_paused, false);
        return "goes on";
    case RunRequest::stop:
        set(m_stop, true);
        return "stops after this step";
    case RunRequest::checkpoint:
        if (!m_canCheckpoint)
            throw sim::Error("the run was started without --checkpoint FOLDER");
        if (!m_alone)
            throw sim::Error("a run of several processes writes checkpoints with --every only");
        set(m_checkpoint, true);
        return "writes a checkpoint after this step";
    }
    return {};
}

bool Control::stopped() const
{
    return m_stop || isSignalled();
}

bool Control::isSignalled()
{
    return g_signals > 0;
}

void Control::waitWhilePaused()
{
    std::unique_lock lock(m_mutex);
    while (m_paused && !stopped())
        m_changed.wait_for(lock, std::chrono::milliseconds(100)); // a signal cannot notify
}

} // namespace live::cli
