#include "live/emulated/machine_parts.h"
#include "live/emulated/wire.h"
#include "sim/error.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace live::emulated {
namespace {

// CUDA's calls name no machine.
std::atomic<Machine*> g_current{nullptr};     // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::uint64_t> g_machinesMade{0}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

int hardwareQueuesOf(const MachineOptions& options)
{
    constexpr int kUsual = 8, kMost = 32; // CUDA C++ Programming Guide, CUDA_DEVICE_MAX_CONNECTIONS
    int count = options.hardwareQueues;
    if (const char* const said = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"); // NOLINT(concurrency-mt-unsafe): nobody writes it
        count == 0 && said)
        count = std::atoi(said);
    return count == 0 ? kUsual : std::clamp(count, 1, kMost);
}

Access accessTo(const Tensor& tensor, bool isWritten)
{
    const auto size = static_cast<std::size_t>(bytesOf(tensor.type));
    const bool whole = tensor.contiguous();
    const std::size_t row = static_cast<std::size_t>(tensor.columns) * size;
    const auto rows = static_cast<std::size_t>(tensor.rows);
    if (!tensor || tensor.elements() == 0)
        return {.writes = isWritten};
    return {.begin = tensor.as<std::byte>(),
            .bytes = whole ? row * rows : row,
            .stride = static_cast<std::size_t>(tensor.stride) * size,
            .rows = whole ? 1 : rows,
            .writes = isWritten};
}

} // namespace

bool loadsKernelsLate()
{
    const char* const said = std::getenv("CUDA_MODULE_LOADING"); // NOLINT(concurrency-mt-unsafe): nobody writes it meanwhile
    return !said || std::string_view(said) != "EAGER";
}

Access reads(const Tensor& tensor)
{
    return accessTo(tensor, false);
}
Access writes(const Tensor& tensor)
{
    return accessTo(tensor, true);
}

Machine::Machine(MachineOptions options)
    : m_options(std::move(options)), m_random(m_options.orderSeed), m_id(++g_machinesMade), m_before(g_current.exchange(this))
{
    // From GPUs that do at once what they are given to hosts that put as much as streams take.
    constexpr std::array<unsigned, 5> kHastes = {224, 0, 256, 128, 250};
    m_haste = kHastes[m_options.orderSeed % kHastes.size()];
    struct Batches {
        std::size_t launches;
        bool areGraphs;
    };
    constexpr std::array<Batches, 6> kBatches = {{{1, false}, {1, false}, {5, true}, {1, false}, {48, true}, {2, false}}};
    if (m_options.batch == 0) {
        const Batches& ofOrder = kBatches[m_options.orderSeed % kBatches.size()];
        m_options.batch = ofOrder.launches;
        m_options.areGraphs = ofOrder.areGraphs;
    }
    // Of GPUs that there are it is 1,024: what a large model fills is to be met by a small one.
    constexpr std::array<std::size_t, 7> kDepths = {1024, 64, 1024, 32, 256, 64, 1024};
    if (m_options.launchDepth == 0)
        m_options.launchDepth = kDepths[m_options.orderSeed % kDepths.size()];
    m_options.loadsLate = m_options.loadsLate && m_options.orderSeed % 3 == 0;
    m_options.hardwareQueues = hardwareQueuesOf(m_options);
    m_gpus.resize(static_cast<std::size_t>(m_options.gpus));
    for (Gpu& gpu : m_gpus)
        gpu.queues.resize(static_cast<std::size_t>(m_options.hardwareQueues));
}

Machine::~Machine()
{
    g_current = m_before;
}

Machine& Machine::current()
{
    if (Machine* const machine = g_current)
        return *machine;
    static Machine first;
    return *g_current.load();
}

MachineStatistics Machine::statistics() const
{
    const std::lock_guard lock(m_mutex);
    MachineStatistics statistics = m_statistics;
    statistics.blocks = m_blocks.size();
    return statistics;
}

std::string Machine::failure() const
{
    const std::lock_guard lock(m_mutex);
    return m_failure;
}

std::uint64_t Machine::random(std::uint64_t below)
{
    return m_random() % below;
}

bool Machine::draw(unsigned of)
{
    const std::lock_guard lock(m_mutex);
    return random(of) == 0;
}

// -------------------------------------------------------------------------------------------------------------- streams

Stream* Machine::createStream(int gpu)
{
    const std::lock_guard lock(m_mutex);
    Gpu& on = m_gpus.at(static_cast<std::size_t>(gpu));
    auto stream = std::make_unique<Stream>();
    stream->number = static_cast<int>(on.streams.size());
    stream->gpu = gpu;
    stream->queue = on.streams.size() % on.queues.size();
    stream->timeline = static_cast<std::uint32_t>(m_timelines.size());
    m_timelines.push_back("stream " + std::to_string(stream->number) + " of GPU " + std::to_string(gpu));
    on.streams.push_back(std::move(stream));
    return on.streams.back().get();
}

void Machine::destroyStream(Stream*) noexcept
{
    // What was put on it is done all the same, as CUDA promises: it stays.
}

void Machine::synchronize(Stream& stream)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    refuseCapturing(stream, "waited for");
    waitUntil(
        lock, host, [&] { return stream.pending == 0; },
        [&] {
            const Operation* const oldest = oldestOf(stream);
            return Wait{oldest, -1, "waits for " + m_timelines[stream.timeline] + ", on which " + nameOf(*oldest) + " is next"};
        });
    learn(host, stream.clock);
}

void Machine::finish()
{
    std::vector<Stream*> streams;
    locked([&] {
        for (const Gpu& gpu : m_gpus)
            for (const auto& stream : gpu.streams)
                streams.push_back(stream.get());
    });
    for (Stream* stream : streams)
        synchronize(*stream);
    Lock lock(m_mutex);
    while (m_wire && m_failure.empty() && !m_wire->hasSent())
        pollWire(lock);
}

Event* Machine::createEvent(int gpu, bool timing)
{
    const std::lock_guard lock(m_mutex);
    ++m_statistics.events;
    return new Event{{}, gpu, timing};
}

void Machine::record(Event& event, Stream& stream)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    throwIfFailed();
    refuseCapturing(stream, "recorded on");
    auto operation = std::make_unique<Operation>();
    operation->kind = Operation::Kind::record;
    operation->name = nameNumber("record an event");
    operation->record = std::make_shared<Record>();
    operation->record->operation = operation.get();
    event.latest = operation->record;
    issue(lock, host, stream, std::move(operation));
}

void Machine::wait(Stream& stream, const Event& event)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    throwIfFailed();
    refuseCapturing(stream, "let wait");
    if (!event.latest) // as CUDA: an event that was never recorded has passed
        return;
    auto operation = std::make_unique<Operation>();
    operation->kind = Operation::Kind::wait;
    operation->name = nameNumber("wait for an event");
    operation->record = event.latest;
    issue(lock, host, stream, std::move(operation));
}

void Machine::synchronize(const Event& event)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    ++m_statistics.eventQueries;
    const std::shared_ptr<Record> latest = event.latest;
    if (!latest)
        return;
    waitUntil(
        lock, host, [&] { return latest->done; },
        [&] {
            return Wait{latest->operation, -1, "waits for an event, that is " + eventText(*latest)};
        });
    learn(host, latest->clock);
}

std::optional<std::chrono::steady_clock::time_point> Machine::passed(const Event& event)
{
    const std::lock_guard lock(m_mutex);
    throwIfFailed();
    ++m_statistics.eventQueries;
    if (!event.latest)
        return std::chrono::steady_clock::now();
    if (!event.latest->done)
        return {};
    if (Host* const host = selfIfHost())
        learn(*host, event.latest->clock);
    return event.latest->time;
}

void Machine::put(Stream& stream, std::string_view name, std::vector<Access> accesses, std::function<void()> body)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    throwIfFailed();
    if (stream.capturing) {
        stream.capturing->launches.push_back({std::string(name), std::move(accesses), std::move(body)});
        return;
    }
    auto operation = std::make_unique<Operation>();
    operation->name = nameNumber(name);
    if (m_options.loadsLate && m_gpus[static_cast<std::size_t>(stream.gpu)].loaded.insert(operation->name).second)
        waitForGpu(lock, host, stream.gpu, "loads a kernel");
    operation->accesses = std::move(accesses);
    operation->body = std::move(body);
    issue(lock, host, stream, std::move(operation));
}

std::unique_ptr<Launches> Machine::capture(Stream& stream, const std::function<void()>& launches)
{
    auto captured = std::make_unique<Launches>();
    {
        const Lock lock(m_mutex);
        throwIfFailed();
        refuseCapturing(stream, "captured");
        stream.capturing = captured.get();
    }
    const auto end = [&] {
        const Lock lock(m_mutex);
        stream.capturing = nullptr;
    };
    try {
        launches();
    } catch (...) {
        end();
        throw;
    }
    end();
    return captured;
}

void Machine::recordInGraph(Event& event, Stream& stream)
{
    const Lock lock(m_mutex);
    throwIfFailed();
    if (!stream.capturing)
        throw sim::Error("an event of a graph is recorded on " + m_timelines[stream.timeline] + ", which is not captured");
    stream.capturing->launches.emplace_back().recorded = &event;
}

void Machine::start(Launches& graph, Stream& stream)
{
    std::vector<Launches::Launch> launches = std::exchange(graph.launches, {});
    for (Launches::Launch& launch : launches) {
        if (launch.recorded)
            record(*launch.recorded, stream);
        else
            put(stream, launch.name, std::move(launch.accesses), std::move(launch.body));
    }
}

void Machine::refuseHostCopy(const Stream& stream) const
{
    const std::lock_guard lock(m_mutex);
    refuseCapturing(stream, "told to copy from or to the host");
}

/// CUDA, of a stream whose launches are captured: cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureIsolation.
void Machine::refuseCapturing(const Stream& stream, const char* call) const
{
    if (stream.capturing)
        throw sim::Error(m_timelines[stream.timeline] + " is " + call + " while " +
                         std::to_string(stream.capturing->launches.size()) + " launches are captured on it");
}

void Machine::put(Stream& stream, std::string_view name, std::vector<Access> accesses, std::shared_ptr<Meeting> meeting)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    throwIfFailed();
    auto operation = std::make_unique<Operation>();
    refuseCapturing(stream, "given a kernel that waits for others");
    operation->kind = Operation::Kind::meeting;
    operation->name = nameNumber(name);
    operation->accesses = std::move(accesses);
    operation->meeting = std::move(meeting);
    issue(lock, host, stream, std::move(operation));
}

void Machine::issue(Lock& lock, Host& host, Stream& stream, std::unique_ptr<Operation> operation)
{
    operation->stream = &stream;
    operation->host = host.number;
    waitUntil(
        lock, host, [&] { return stream.pending < m_options.launchDepth; },
        [&] {
            return Wait{oldestOf(stream), -1,
                        "can put no more on " + m_timelines[stream.timeline] + ", which holds " + std::to_string(stream.pending) +
                            " operations"};
        });
    if (operation->meeting) // not before: the wait above throws where the machine has failed, and the operation is gone then
        operation->meeting->operation = operation.get();
    operation->number = ++m_issued;
    operation->issued = host.clock;
    ++stream.pending;
    ++m_progress;
    m_gpus[static_cast<std::size_t>(stream.gpu)].queues[stream.queue].push_back(std::move(operation));
    breathe(lock, host);
}

bool Machine::mayBegin(const Operation& operation, Wait* why) const
{
    if (const Operation* const running = operation.stream->running.get()) {
        *why = {running, -1, "comes after " + nameOf(*running) + ", which is not done"};
        return false;
    }
    if (operation.kind == Operation::Kind::wait && !operation.record->done) {
        *why = {operation.record->operation, -1, "that is " + eventText(*operation.record)};
        return false;
    }
    return operation.kind != Operation::Kind::meeting || operation.meeting->mayBegin(operation, why);
}

bool Machine::runOne()
{
    const std::size_t gpus = m_gpus.size(), queues = static_cast<std::size_t>(m_options.hardwareQueues);
    const std::size_t start = random(gpus * queues);
    for (std::size_t i = 0; i < gpus * queues; ++i) {
        const std::size_t place = (start + i) % (gpus * queues);
        auto& queue = m_gpus[place / queues].queues[place % queues];
        Wait why;
        if (queue.empty() || !mayBegin(*queue.front(), &why))
            continue;
        std::unique_ptr<Operation> operation = std::move(queue.front());
        queue.pop_front();
        execute(std::move(operation));
        m_completed.clear();
        return true;
    }
    return false;
}

void Machine::execute(std::unique_ptr<Operation> operation)
{
    Stream& stream = *operation->stream;
    stream.clock.join(*operation->issued);
    if (operation->kind == Operation::Kind::wait)
        stream.clock.join(operation->record->clock);
    stream.clock.set(stream.timeline, ++stream.ticks);
    ++m_progress;
    ++m_statistics.operations;
    try {
        check(*operation, stream.clock);
        if (operation->kind == Operation::Kind::meeting) {
            stream.running = std::move(operation);
            stream.running->meeting->begin(*stream.running);
            return;
        }
        if (operation->body)
            operation->body();
    } catch (const std::exception& error) {
        fail(error.what());
        if (operation && operation->meeting) // it never ran; whoever ends the meeting later must not find what is gone
            operation->meeting->operation = nullptr;
    }
    if (operation && operation->kind == Operation::Kind::record) {
        Record& record = *operation->record;
        record.clock = stream.clock;
        record.time = std::chrono::steady_clock::now();
        record.done = true;
        record.operation = nullptr;
    }
    --stream.pending;
}

void Machine::complete(Operation& operation, const Clock* learnt)
{
    Stream& stream = *operation.stream;
    if (learnt)
        stream.clock.join(*learnt);
    --stream.pending;
    ++m_progress;
    operation.meeting->operation = nullptr;
    m_completed.push_back(std::move(stream.running));
}

const Clock& Machine::clockOf(const Operation& operation) const
{
    return operation.stream->clock;
}

} // namespace live::emulated
