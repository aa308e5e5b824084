// What a rank did, as it happens: fixed-size records of spans in a bounded queue that one writer (the worker that runs the rank)
// fills and one reader (the stream) empties. A full one drops the new record and counts it: training never waits for whoever
// looks at it.
#pragma once

#include "sim/trace/trace.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace live {

/// Which row of the rank a span belongs to: the actions, the kernels of an operation, one row a kind of communication; last the
/// GPU's kernels by themselves, where a run times them.
enum class SpanTrack : std::uint8_t { actions, compute, tp, cp, ep, dp, sendForward, sendBackward, receive, gpuKernels };
inline constexpr int kSpanTrackCount = 10;
const char* spanTrackName(SpanTrack); ///< the simulator's stream names

struct SpanRecord {
    std::int64_t startNs = 0; ///< steady clock. Of communication: when this rank arrived
    std::int64_t endNs = 0;
    std::int64_t readyNs = 0;      ///< of communication: when the last member had arrived; else startNs
    std::int64_t cpuNs = 0;        ///< processor time of a kernel, or of a transfer that a processor made (0: not measured)
    std::int64_t bytes = 0;        ///< moved by a transfer
    std::uint64_t correlation = 0; ///< the request's place in the global order: same on all members; 0 = none
    std::uint32_t kind = 0;        ///< index into SpanKinds
    std::int32_t microbatch = -1;
    std::int32_t step = 0;
    SpanTrack track = SpanTrack::compute;
};

/// Spans' names, interned; shared by all ranks of a process. Any thread.
class SpanKinds {
public:
    std::uint32_t id(const sim::SpanKind&);
    std::vector<sim::SpanKind> from(std::size_t first = 0) const; ///< in the order of their numbers
    sim::SpanKind of(std::uint32_t id) const;
    std::size_t size() const;

private:
    mutable std::mutex m_mutex;
    std::vector<sim::SpanKind> m_kinds;
    std::unordered_map<std::string, std::uint32_t> m_ids;
};

/// A value over time: bytes held, tokens trained.
struct CounterRecord {
    std::int64_t timeNs = 0;
    std::int64_t value = 0;
};

/// Single writer, single reader, bounded. Takes memory for what is in it, a chunk at a time: many ranks record little.
template <class Record>
class Ring {
public:
    explicit Ring(std::size_t capacity) : m_capacity(capacity) {}
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring()
    {
        while (m_first != nullptr)
            delete std::exchange(m_first, m_first->next);
        delete m_spare.load(std::memory_order_relaxed);
    }
    void push(const Record& record)
    {
        const std::size_t head = m_head.load(std::memory_order_relaxed);
        if (head - m_tail.load(std::memory_order_acquire) == m_capacity) {
            m_dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        const std::size_t place = head % kChunkRecords;
        if (place == 0 && head != 0)
            m_last = m_last->next = freshChunk();
        m_last->records[place] = record;
        m_head.store(head + 1, std::memory_order_release); // and with it the chunk
    }
    /// Appends what is there.
    void drain(std::vector<Record>& out)
    {
        const std::size_t head = m_head.load(std::memory_order_acquire);
        std::size_t tail = m_tail.load(std::memory_order_relaxed);
        for (; tail != head; ++tail) {
            const std::size_t place = tail % kChunkRecords;
            if (place == 0 && tail != 0)
                delete m_spare.exchange(std::exchange(m_first, m_first->next), std::memory_order_acq_rel);
            out.push_back(m_first->records[place]);
        }
        m_tail.store(tail, std::memory_order_release);
    }
    /// Records that were lost before they came here.
    void lost(std::uint64_t count) { m_dropped.fetch_add(count, std::memory_order_relaxed); }
    std::uint64_t pushed() const { return m_head.load(std::memory_order_relaxed); }
    std::uint64_t dropped() const { return m_dropped.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kChunkRecords = 256;
    struct Chunk {
        std::array<Record, kChunkRecords> records;
        Chunk* next = nullptr;
    };
    Chunk* freshChunk()
    {
        Chunk* const spare = m_spare.exchange(nullptr, std::memory_order_acq_rel);
        if (spare == nullptr)
            return new Chunk;
        spare->next = nullptr;
        return spare;
    }

    const std::size_t m_capacity;
    Chunk* m_last = new Chunk;            ///< the writer's
    Chunk* m_first = m_last;              ///< the reader's
    std::atomic<Chunk*> m_spare{nullptr}; ///< the last one read to its end
    alignas(64) std::atomic<std::size_t> m_head{0};
    alignas(64) std::atomic<std::size_t> m_tail{0};
    std::atomic<std::uint64_t> m_dropped{0};
};

/// One rank's records.
class Recorder {
public:
    explicit Recorder(int ofRank, std::size_t capacity = 1 << 16) : rank(ofRank), spans(capacity), memory(capacity) {}
    const int rank;
    Ring<SpanRecord> spans;
    Ring<CounterRecord> memory; ///< bytes held
    /// If asked for: tokens of each expert, for every passing of a layer; by one rank of those that share the experts. Of whoever
    /// reads them between steps.
    bool keepsRouting = false;
    std::vector<std::vector<std::int64_t>> routings;
};

/// Nanoseconds of the steady clock (CLOCK_MONOTONIC: one clock for all processes of a machine), and of this thread's processor
/// time.
std::int64_t nowNs();
std::int64_t threadCpuNs();

/// This thread's processor time at the instant wallNs (just read from nowNs()), for stamping kernels. The thread's clock costs
/// ten times what the wall's does, so it is read once in a while only and in between taken to run with the wall's: a thread that
/// was put aside meanwhile has been so for longer than that, and shows at the next reading.
std::int64_t estimatedCpuNs(std::int64_t wallNs);

} // namespace live
