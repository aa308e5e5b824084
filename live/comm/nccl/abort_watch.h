// A thread that ends a run of NCCL's: at once when it is asked to, by whomever, and by itself when NCCL found an error or a
// set-up takes too long. Calls of NCCL may wait for peers that never come, so nobody else may have to wait for the end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace live::cuda {

class AbortWatch {
public:
    struct Duties {
        std::function<void(const std::string& why)> abort; ///< once, when it was requested
        std::function<void()> look;                        ///< for errors, again and again; may request()
    };
    /// setUpWithin: longer than that nothing of setsUp() may take.
    AbortWatch(std::chrono::milliseconds setUpWithin, Duties);
    ~AbortWatch() { end(); }
    AbortWatch(const AbortWatch&) = delete;
    AbortWatch& operator=(const AbortWatch&) = delete;
    /// No duty is done any more when it returns.
    void end();

    /// What is being set up from now on; "": nothing.
    void setsUp(const std::string& what);
    /// Any thread; does not block. Of several reasons the first counts.
    void request(const std::string& why);
    bool isRequested() const { return m_requested; }
    std::string reason(); ///< "" while there is none

private:
    void watch();

    const std::chrono::milliseconds m_setUpWithin;
    const Duties m_duties;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::string m_why, m_setsUp;
    std::chrono::steady_clock::time_point m_setUpSince;
    std::atomic<bool> m_requested{false};
    bool m_ending = false;
    std::thread m_thread;
};

} // namespace live::cuda
