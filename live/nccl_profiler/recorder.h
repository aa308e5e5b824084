// The operations of a process's communicators from what NCCL tells of them, in a bounded place: those under way in a ring of
// slots, those that ended in a ring that somebody drains. Any thread; no call allocates but the constructor.
#pragma once

#include "live/nccl_profiler/event.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace live::nccl_profiler {

inline constexpr int kMostChannels = 64; ///< of a kernel, as NCCL has them
inline constexpr int kMostProxyOps = 64; ///< kept of an operation; of more only the wait
inline constexpr std::int64_t kNoTime = -1;

struct Communicator {
    std::uint64_t hash = 0;
    std::array<char, 64> name{};
    int rank = -1, ranks = 0, nodes = 0; ///< ranks, nodes 0: not said (v1 to v3)
};

/// What was asked of NCCL.
struct Call {
    std::array<char, 24> function{};
    std::array<char, 16> dtype{}, algorithm{}, protocol{};
    std::uint64_t count = 0;
    std::int64_t sequence = -1;
    int other = -1, channels = 0;
    bool isPointToPoint = false, isCaptured = false, isByCopyEngines = false;
    std::int64_t askedNs = kNoTime, enqueuedNs = kNoTime; ///< of the host: the program's call (else NCCL's own), all enqueued
};

struct ProxyUse {
    std::int64_t startNs = kNoTime, stopNs = kNoTime;
    std::int64_t firstNs = kNoTime; ///< receives: the first message came; sends: the peer was ready for the first
    int peer = -1, steps = 0;
    std::uint8_t channel = 0;
    bool isSend = false;
};

/// One run of an operation: of those in graphs there are many. Times are the host's clock, but the kernel's where isDeviceClock.
struct Execution {
    std::uint64_t started = 0, stopped = 0; ///< bit c: channel c of the kernel
    std::array<std::int64_t, kMostChannels> kernelStartNs, kernelStopNs;
    bool isDeviceClock = false;
    std::array<ProxyUse, kMostProxyOps> proxies;
    int proxyCount = 0, opened = 0, closed = 0; ///< opened, closed: of channels and proxies
    std::int64_t lastFirstNs = kNoTime;         ///< the latest of all proxies' firstNs, also of those that are not kept
    std::int64_t lastEventNs = 0;
};

/// By how much the host's clock is ahead of the device's: what NCCL hands on it hands on late, so the least difference is
/// nearest. Of the last ten to twenty seconds, as clocks drift.
class DeviceClock {
public:
    void take(std::int64_t deviceNs, std::int64_t hostNs)
    {
        if (hostNs - m_since > kWindowNs) {
            const bool isRecent =
                m_since != 0 && hostNs - m_since <= 2 * kWindowNs; // of before a silence the clocks drifted since
            m_before = isRecent ? m_now : kNothing;
            m_now = kNothing;
            m_since = hostNs;
        }
        m_now = m_now < hostNs - deviceNs ? m_now : hostNs - deviceNs;
    }
    std::int64_t onHost(std::int64_t deviceNs) const { return deviceNs + (m_now < m_before ? m_now : m_before); }

private:
    static constexpr std::int64_t kWindowNs = 10'000'000'000, kNothing = INT64_MAX / 2;
    std::int64_t m_now = kNothing, m_before = kNothing, m_since = 0;
};

/// An operation that ended, or (isOver false) that will not be waited for any longer.
struct Finished {
    int communicator = 0; ///< index, for Recorder::communicator()
    bool isOver = true;
    int interfaceVersion = 0;
    Call call;
    Execution run;
};

class Recorder {
public:
    /// `operations` under way at once, `finished` between two drains: powers of two, at most 2^15.
    explicit Recorder(std::size_t operations = 2048, std::size_t finished = 512);

    /// A communicator's number, -1 where there are as many as are kept (1,024) already.
    int open(const Communicator&, int interfaceVersion);
    /// What is under way in it becomes finished, not over, and nothing begins any more. False: the finished ring is full before
    /// all are; drain it and call again, at last release() it.
    bool close(int communicator);
    void release(int communicator);
    bool isOpen(int communicator) const;

    /// 0: nothing more of it is wanted.
    Handle start(int communicator, const Event&, std::int64_t nowNs);
    void stop(Handle, std::int64_t nowNs);
    /// deviceNs: of kKernelChannelStop, 0 elsewhere.
    void state(Handle, int state, std::uint64_t deviceNs, std::int64_t nowNs);

    /// Operations of which nothing was heard for a while are over. False: as close().
    bool settle(std::int64_t nowNs);
    /// One that ended, oldest first; with its kernel's times on the host's clock. False: none.
    bool take(Finished&);
    Communicator communicator(int index) const;
    /// Of operations that found no room in the finished ring, and of events whose operation was gone.
    struct Lost {
        std::uint64_t operations = 0, events = 0, foreign = 0; ///< foreign: proxies that ran for another process
    };
    Lost lost() const;
    bool isFilling() const { return m_isFilling.load(std::memory_order_relaxed); } ///< the finished ring is half full

private:
    struct Operation {
        std::uint32_t generation = 0;
        bool isLive = false, wasRun = false, isSettling = false;
        int communicator = -1;
        Call call;
        Execution run;
    };
    struct Member {
        bool isOpen = false, isClosing = false;
        int interfaceVersion = 0;
        Communicator communicator;
        DeviceClock clock;
    };
    struct Settling {
        std::uint32_t slot = 0, generation = 0;
        std::int64_t sinceNs = 0;
    };
    Operation* operationOf(Handle);
    std::size_t slotForOne();
    Handle startOperation(int communicator, const Event&, std::int64_t nowNs);
    Handle startKernel(const Event&, std::int64_t nowNs);
    Handle startProxyOp(const Event&, std::int64_t nowNs);
    Handle startStep(const Event&);
    void stopKernel(Operation&, int channel, std::uint64_t deviceNs, std::int64_t nowNs);
    void closeOne(Operation&, std::uint32_t slot, std::int64_t nowNs);
    void finish(Operation&, bool isOver);
    void reset(Execution&) const;

    mutable std::mutex m_lock;
    std::vector<Operation> m_operations;
    std::vector<Finished> m_finished;
    std::vector<Settling> m_settling;
    std::vector<Member> m_members;
    std::size_t m_next = 0, m_firstFinished = 0, m_finishedCount = 0, m_firstSettling = 0, m_settlingCount = 0;
    Lost m_lost;
    std::atomic<bool> m_isFilling{false};
};

} // namespace live::nccl_profiler
