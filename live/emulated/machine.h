// A machine of imaginary GPUs that keeps the order rules of CUDA and NCCL and no others: what was put on a stream happens some
// time later, in the stream's order; streams share a limited number of hardware queues, in which an operation that cannot begin
// holds up all behind it; events order streams; a kernel of NCCL runs until its peers run theirs. Which of the operations that
// may go next does go is drawn by a seed, as is how far the hosts run ahead; the same seed gives the same order. Arithmetic is
// the CPU's kernels, run when their turn has come.
//
// Two things end the run with a message: an access to memory that nothing orders with an earlier one (happens_before.h), and a
// state in which nobody can go on, told as the circle of waits.
//
// A host is a thread that calls the machine. Of several one runs at a time, from one call of the machine to the next, so that
// they too have one order a seed; one stands for each process of a run. Kernels of a machine are few and small: it is for proofs.
#pragma once

#include "live/emulated/happens_before.h"
#include "live/kernels/cuda/runtime.h"
#include "live/tasks/worker_pool.h"
#include "live/tensor/tensor.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace live::emulated {

struct MachineOptions {
    std::uint64_t orderSeed = 1;
    int gpus = 1;
    /// Of each GPU. 0: as CUDA_DEVICE_MAX_CONNECTIONS says, CUDA's 8 where it says nothing.
    int hardwareQueues = 0;
    std::int64_t memoryBytes = std::int64_t{8} << 30; ///< of each GPU
    /// Kernels are loaded where they are first launched, which in some orders waits for the whole GPU.
    bool loadsLate = false;
    int processors = 132;        ///< of each GPU; kernels of NCCL take some until they end
    std::size_t launchDepth = 0; ///< operations that a stream holds; the host waits where there are more; 0: the order says
    int ncclVersion = 0;         ///< 0: as this program was written for
    std::string repeat;          ///< the command that repeats the order, for messages
    std::size_t batch = 0;       ///< launches of a batch (LaunchBatches); 0: the order says, 1: no batches
    bool areGraphs = false;      ///< batches are captured and started as graphs; where the order says how many, it says this too
};

struct MachineStatistics {
    std::uint64_t operations = 0;   ///< that have run
    std::uint64_t events = 0;       ///< that were made
    std::uint64_t eventQueries = 0; ///< calls that wait for an event, ask for it or read its time
    std::uint64_t hostWaits = 0;    ///< calls in which a host had to wait
    std::size_t blocks = 0;         ///< of device memory, not released
};

/// As CUDA does where CUDA_MODULE_LOADING does not say otherwise.
bool loadsKernelsLate();

Access reads(const Tensor&);
Access writes(const Tensor&);

struct Operation;
struct Stream;

/// One recording of an event.
struct Record {
    bool done = false;
    Clock clock;
    std::chrono::steady_clock::time_point time;
    const Operation* operation = nullptr; ///< while not done
};

struct Event {
    std::shared_ptr<Record> latest; ///< null: never recorded
    int gpu = 0;
    bool timing = false;
};

/// What holds an operation or a host up, for people: where to look next, and a sentence.
struct Wait {
    const Operation* operation = nullptr;
    int host = -1;
    std::string why;
};

/// What stands behind an operation that runs until others do their part: a kernel of NCCL.
class Meeting {
public:
    virtual ~Meeting() = default;
    const Operation* operation = nullptr; ///< once it was issued, until it is done
    /// May it begin, as far as its communicator says? If not, *why says what it waits for.
    virtual bool mayBegin(const Operation&, Wait* why) const = 0;
    /// It runs now. Calls Machine::complete() for all that this completes.
    virtual void begin(Operation&) = 0;
    /// What it waits for while it runs.
    virtual Wait waitsFor(const Operation&) const = 0;
};

struct Operation {
    enum class Kind : std::uint8_t { kernel, record, wait, meeting };
    Kind kind = Kind::kernel;
    std::uint32_t name = 0;
    std::uint64_t number = 0; ///< in the order of issue
    Stream* stream = nullptr;
    int host = 0;
    std::shared_ptr<const Clock> issued; ///< what the host knew
    std::vector<Access> accesses;
    std::function<void()> body;
    std::shared_ptr<Record> record; ///< made, or waited for
    std::shared_ptr<Meeting> meeting;
};

/// What is captured, or what a graph will do.
struct Launches {
    struct Launch {
        std::string name;
        std::vector<Access> accesses;
        std::function<void()> body;
        Event* recorded = nullptr; ///< no kernel: the event's recording
    };
    std::vector<Launch> launches;
};

struct Stream {
    Launches* capturing = nullptr; ///< what it is given goes there
    int number = 0, gpu = 0;
    std::size_t queue = 0; ///< of the GPU's hardware queues
    std::uint32_t timeline = 0;
    Clock clock;
    std::uint32_t ticks = 0;
    std::size_t pending = 0;            ///< put and not completed
    std::unique_ptr<Operation> running; ///< a meeting that waits for its peers
};

class Wire;

class Machine {
public:
    explicit Machine(MachineOptions = {});
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    /// The one that CUDA's and NCCL's calls go to: the youngest that lives; without any, one is made.
    static Machine& current();

    const MachineOptions& options() const { return m_options; }
    MachineStatistics statistics() const;
    std::string failure() const; ///< "" while all is well

    /// Runs body(i) for each name on a thread of its own, one at a time, as separate processes. Throws what the first of them
    /// threw, after all have ended.
    void runHosts(const std::vector<std::string>& names, const std::function<void(int)>& body);
    /// For a host with nothing to do: returns when something has happened, at once after nudge(). Throws sim::Error where
    /// nothing can.
    void idle(const std::string& waitsFor);
    /// The caller waits until all that was put anywhere is done: what is not done is not checked.
    void finish();
    /// This process is one of several, each with a machine of one GPU: NCCL's members reach each other over a wire. They wait for
    /// each other in real time then, so that nobody can tell a circle and a seed gives one order only of each by itself.
    void connect(std::shared_ptr<Wire>);
    Wire* wire() const { return m_wire.get(); } ///< null: all processes are hosts of this machine

    // -- what the stand-ins of CUDA and NCCL are made of. They lock by themselves and throw sim::Error once the run has failed,
    // unless they are noexcept.
    Stream* createStream(int gpu);
    void destroyStream(Stream*) noexcept;
    void synchronize(Stream&);
    Event* createEvent(int gpu, bool timing);
    void record(Event&, Stream&);
    void wait(Stream&, const Event&);
    void synchronize(const Event&);
    /// Whether it has passed, and when. Any thread, also one that is no host.
    std::optional<std::chrono::steady_clock::time_point> passed(const Event&);
    void put(Stream&, std::string_view name, std::vector<Access>, std::function<void()> body);
    void put(Stream&, std::string_view name, std::vector<Access>, std::shared_ptr<Meeting>);
    std::unique_ptr<Launches> capture(Stream&, const std::function<void()>& launches);
    void recordInGraph(Event&, Stream&);
    void refuseHostCopy(const Stream&) const; ///< throws where launches are captured
    void start(Launches&, Stream&);           ///< empties it
    void* allocate(int gpu, std::size_t bytes);
    void release(void*) noexcept;
    std::size_t freeBytes(int gpu) const;
    bool isOnDevice(const void*) const;
    void allowPeer(int gpu, int other);
    /// A draw of the order's: true once in `of`.
    bool draw(unsigned of);
    /// The calling host waits until ready(). why(): what for. Under no lock of the machine's; ready and why are called under it.
    void waitUntil(const std::function<bool()>& ready, const std::function<Wait()>& why);
    /// The same for any thread, also one that is no host; the GPUs go on meanwhile. Does not throw: false once the run has
    /// failed.
    bool waitBeside(const std::function<bool()>& ready, const std::function<Wait()>& why);
    /// With the machine's lock held, for what a stand-in keeps itself. Registers the caller as a host unless it is `foreign`.
    template <class Function>
    auto locked(const Function& f)
    {
        const std::lock_guard lock(m_mutex);
        return f();
    }

    int callingHost(); ///< its number
    bool isHost() const;

    // Under locked() or from a Meeting.
    void complete(Operation&, const Clock* learnt); ///< a meeting that runs; learnt: from others
    const Clock& clockOf(const Operation&) const;
    void fail(const std::string& why) noexcept;
    std::string nameOf(const Operation&) const;
    int hostCalled(const std::string& name) const; ///< its number, -1 if there is none
    /// Those who wait for a state of NCCL's look again, and find that the run is over.
    void nudge();
    bool nudged() const { return m_nudged; }
    WorkerPool& pool() { return m_pool; } ///< of one worker, for the CPU's kernels
    std::shared_ptr<void> nccl;           ///< what the stand-in of NCCL keeps
    std::function<void()> onWire;         ///< called when something may have come over the wire

private:
    struct Block;
    struct Gpu;
    struct Host;
    using Lock = std::unique_lock<std::mutex>;

    Host& self(Lock&); ///< of the calling thread; waits for its turn where it is new
    Host* selfIfHost() const;
    int addHost(const std::string& name);
    void throwIfFailed() const;
    void breathe(Lock&, Host&);
    void waitUntil(Lock&, Host&, const std::function<bool()>& ready, const std::function<Wait()>& why);
    Host* another(const Host* than); ///< that can go on; null if there is none
    void handOver(Lock&, Host& from, Host& to);
    /// Runs operations until a host can go on, whose turn it then is; at the end of a host.
    void leave(Lock&);
    bool runOne();
    void pollWire(Lock&);
    static void pause(Lock&); ///< lets other threads have the machine
    /// Where nobody can go on: whether that is for want of other threads, which end a run that has failed.
    bool isBeingEnded(Lock&);
    bool mayBegin(const Operation&, Wait* why) const;
    void execute(std::unique_ptr<Operation>);
    void check(const Operation&, const Clock&);
    void issue(Lock&, Host&, Stream&, std::unique_ptr<Operation>);
    /// The host waits until the whole GPU is idle. does: what it does meanwhile, for people.
    void waitForGpu(Lock&, Host&, int gpu, const std::string& does);
    void refuseCapturing(const Stream&, const char* call) const;
    std::uint32_t nameNumber(std::string_view);
    Block* blockOf(const void*) const;
    std::string text(const Epoch&) const;
    std::string eventText(const Record&) const;
    /// The circle of waits that begins there.
    std::string stuck(Wait at) const;
    Wait waitsFor(const Operation&) const;
    const Operation* oldestOf(const Stream&) const;
    static void learn(Host&, const Clock&);
    std::uint64_t random(std::uint64_t below);

    MachineOptions m_options;
    mutable std::mutex m_mutex;
    std::mt19937_64 m_random;
    unsigned m_haste = 0; ///< a host goes on without the GPUs getting a turn this many times in 256
    std::vector<std::unique_ptr<Host>> m_hosts;
    Host* m_turn = nullptr; ///< who runs
    std::vector<Gpu> m_gpus;
    std::map<const std::byte*, std::unique_ptr<Block>> m_blocks; ///< by address
    std::vector<std::string> m_names;
    std::unordered_map<std::string, std::uint32_t> m_nameNumbers;
    std::vector<std::string> m_timelines; ///< their names
    std::uint64_t m_issued = 0, m_progress = 0;
    std::shared_ptr<Wire> m_wire;
    std::vector<std::unique_ptr<Operation>> m_completed; ///< meetings, kept until they are no longer on the stack
    MachineStatistics m_statistics;
    std::string m_failure;
    bool m_nudged = false;
    std::chrono::steady_clock::time_point m_nudgedAt;
    WorkerPool m_pool{1};
    const std::uint64_t m_id;
    Machine* const m_before; ///< that was current when this one was made
};

} // namespace live::emulated
