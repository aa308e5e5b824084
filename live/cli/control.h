// What viewers and signals may ask of a training; done between two steps.
#pragma once

#include "live/stream/viewer.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

namespace live::cli {

class Control {
public:
    /// `alone`: the run is this one process; several cannot pause.
    Control(bool canCheckpoint, bool alone);

    /// As a RunControl.
    std::string request(RunRequest);

    bool stopped() const;
    bool takeCheckpoint() { return m_checkpoint.exchange(false); }
    bool isPaused() const { return m_paused; }
    /// Returns when the run may go on, or shall stop.
    void waitWhilePaused();

    /// From now on Ctrl-C and a polite end stop the run after its step; a third one ends the program at once.
    static void catchSignals();
    /// Whether one has come. Any thread.
    static bool isSignalled();

private:
    void set(std::atomic<bool>& flag, bool value);

    const bool m_canCheckpoint, m_alone;
    std::atomic<bool> m_paused{false}, m_stop{false}, m_checkpoint{false};
    std::mutex m_mutex;
    std::condition_variable m_changed;
};

} // namespace live::cli
