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
    operation->meeting->operation = operation.get();
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

// --------------------------------------------------------------------------------------------------------------- memory

void* Machine::allocate(int gpu, std::size_t bytes)
{
    constexpr std::size_t kAlignment = 256;
    const std::lock_guard lock(m_mutex);
    Gpu& on = m_gpus.at(static_cast<std::size_t>(gpu));
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    if (on.bytesUsed + static_cast<std::int64_t>(size) > m_options.memoryBytes)
        return nullptr;
    auto block = std::make_unique<Block>();
    block->data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (!block->data)
        return nullptr;
    std::fill_n(block->data, size, std::byte{0xFF}); // not a number: what is read before it is written shows
    block->bytes = size;
    block->gpu = gpu;
    on.bytesUsed += static_cast<std::int64_t>(size);
    std::byte* const data = block->data;
    m_blocks.emplace(data, std::move(block));
    return data;
}

void Machine::release(void* data) noexcept
{
    if (!data)
        return;
    try {
        Lock lock(m_mutex);
        const Block* const block = blockOf(data);
        if (!block)
            return fail("memory was released that no GPU has given");
        Gpu& gpu = m_gpus[static_cast<std::size_t>(block->gpu)];
        const auto busy = [&] {
            return std::find_if(gpu.streams.begin(), gpu.streams.end(), [](const auto& stream) { return stream->pending > 0; });
        };
        // cudaFree waits for the whole GPU.
        if (m_failure.empty() && busy() != gpu.streams.end()) {
            try {
                Host& host = self(lock);
                waitUntil(
                    lock, host, [&] { return busy() == gpu.streams.end(); },
                    [&] {
                        const Operation* const oldest = oldestOf(**busy());
                        return Wait{oldest, -1, "releases memory, which waits for all of its GPU: for " + nameOf(*oldest)};
                    });
                for (const auto& stream : gpu.streams)
                    learn(host, stream->clock);
            } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): it is kept as the machine's failure
            }
        }
        gpu.bytesUsed -= static_cast<std::int64_t>(block->bytes);
        m_blocks.erase(static_cast<const std::byte*>(data));
    } catch (const std::exception&) {
        std::terminate();
    }
}

std::size_t Machine::freeBytes(int gpu) const
{
    const std::lock_guard lock(m_mutex);
    return static_cast<std::size_t>(m_options.memoryBytes - m_gpus.at(static_cast<std::size_t>(gpu)).bytesUsed);
}

Machine::Block* Machine::blockOf(const void* address) const
{
    const auto* const place = static_cast<const std::byte*>(address);
    const auto after = m_blocks.upper_bound(place);
    if (after == m_blocks.begin())
        return nullptr;
    Block* const block = std::prev(after)->second.get();
    return place < block->data + block->bytes ? block : nullptr;
}

bool Machine::isOnDevice(const void* address) const
{
    const std::lock_guard lock(m_mutex);
    return blockOf(address) != nullptr;
}

void Machine::allowPeer(int gpu, int other)
{
    const std::lock_guard lock(m_mutex);
    m_gpus.at(static_cast<std::size_t>(gpu)).peers.insert(other);
}

void Machine::check(const Operation& operation, const Clock& clock)
{
    const Stream& stream = *operation.stream;
    const Epoch epoch{stream.timeline, stream.ticks, operation.name, operation.number};
    for (const Access& access : operation.accesses) {
        if (!access.begin || access.bytes == 0)
            continue;
        Block* const block = blockOf(access.begin);
        const std::byte* const end = access.begin + (access.rows - 1) * access.stride + access.bytes;
        if (!block || end > block->data + block->bytes)
            throw sim::Error(nameOf(operation) + (access.writes ? " writes" : " reads") +
                             " memory that no GPU has given, or that was released");
        if (block->gpu != stream.gpu && !m_gpus[static_cast<std::size_t>(stream.gpu)].peers.contains(block->gpu))
            throw sim::Error(nameOf(operation) + " reaches for memory of GPU " + std::to_string(block->gpu) +
                             ", which it was not allowed to");
        for (std::size_t row = 0; row < access.rows; ++row) {
            const auto first = static_cast<std::size_t>(access.begin - block->data) + row * access.stride;
            const auto conflict = block->shadow.touch(first, first + access.bytes, access.writes, epoch, clock);
            if (!conflict)
                continue;
            throw sim::Error("a race: " + nameOf(operation) + (access.writes ? " writes" : " reads") + " bytes " +
                             std::to_string(std::max(first, conflict->first)) + " to " +
                             std::to_string(std::min(first + access.bytes - 1, conflict->last)) + " of a block of " +
                             std::to_string(block->bytes) + " bytes, which " + text(conflict->other) +
                             (conflict->otherWrites ? " writes" : " reads") + ", and no event orders the two");
        }
    }
}

// ------------------------------------------------------------------------------------------------------------- messages

std::uint32_t Machine::nameNumber(std::string_view name)
{
    const auto [place, isNew] = m_nameNumbers.try_emplace(std::string(name), static_cast<std::uint32_t>(m_names.size()));
    if (isNew)
        m_names.emplace_back(name);
    return place->second;
}

std::string Machine::nameOf(const Operation& operation) const
{
    std::string who = m_hosts.size() > 1 ? " of " + m_hosts[static_cast<std::size_t>(operation.host)]->name : "";
    return "'" + m_names[operation.name] + "' (operation " + std::to_string(operation.number) + who + ", on " +
           m_timelines[operation.stream->timeline] + ")";
}

/// Of one that has not been passed.
std::string Machine::eventText(const Record& record) const
{
    const Operation& operation = *record.operation;
    return "one recorded as operation " + std::to_string(operation.number) + " on " + m_timelines[operation.stream->timeline] +
           ", which has come to " + nameOf(*oldestOf(*operation.stream));
}

std::string Machine::text(const Epoch& epoch) const
{
    return "'" + m_names[epoch.name] + "' (operation " + std::to_string(epoch.number) + ", on " + m_timelines[epoch.timeline] +
           ")";
}

void Machine::fail(const std::string& why) noexcept
{
    if (!m_failure.empty())
        return;
    m_failure = why + (why.ends_with('\n') ? "" : " ") + "[order " + std::to_string(m_options.orderSeed) + "]";
    if (!m_options.repeat.empty())
        m_failure += "\nTo see it again: " + m_options.repeat;
}

const Operation* Machine::oldestOf(const Stream& stream) const
{
    if (stream.running)
        return stream.running.get();
    for (const auto& operation : m_gpus[static_cast<std::size_t>(stream.gpu)].queues[stream.queue])
        if (operation->stream == &stream)
            return operation.get();
    return nullptr;
}

Wait Machine::waitsFor(const Operation& operation) const
{
    const Stream& stream = *operation.stream;
    if (stream.running.get() == &operation)
        return operation.meeting->waitsFor(operation);
    const Operation& head = *m_gpus[static_cast<std::size_t>(stream.gpu)].queues[stream.queue].front();
    Wait why;
    if (&head == &operation) {
        if (mayBegin(operation, &why))
            why.why = "may begin";
        return why;
    }
    if (const Operation* const oldest = oldestOf(stream); oldest != &operation)
        return {oldest, -1, "comes after " + nameOf(*oldest)};
    return {&head, -1,
            "is behind " + nameOf(head) + " in hardware queue " + std::to_string(stream.queue) + " of " +
                std::to_string(m_options.hardwareQueues) + ", which their streams share"};
}

std::string Machine::stuck(Wait at) const
{
    std::vector<Wait> seen; // what was looked at, and what was found there
    std::size_t circle = 0;
    for (;;) {
        const auto again = std::find_if(seen.begin(), seen.end(), [&](const Wait& known) {
            return known.operation == at.operation && (at.operation || known.host == at.host);
        });
        if (again != seen.end()) {
            circle = static_cast<std::size_t>(again - seen.begin());
            break;
        }
        Wait next;
        if (at.operation) {
            next = waitsFor(*at.operation);
            at.why = at.operation->kind == Operation::Kind::record ? "" : nameOf(*at.operation) + " " + next.why;
        } else {
            const Host& waiting = *m_hosts[static_cast<std::size_t>(at.host)];
            next = waiting.ended ? Wait{nullptr, -1, "has ended"}
                   : waiting.why ? (*waiting.why)()
                                 : Wait{nullptr, -1, "waits for nothing of the GPUs'"};
            at.why = waiting.name + " " + next.why;
        }
        seen.push_back(at);
        at = next;
        if (!at.operation && at.host < 0)
            break;
    }
    std::string message = "nobody can go on:";
    for (std::size_t i = circle; i < seen.size(); ++i)
        if (!seen[i].why.empty()) // that an event comes after what is before it says nothing
            message += "\n  " + seen[i].why;
    return message + "\n";
}

} // namespace live::emulated
