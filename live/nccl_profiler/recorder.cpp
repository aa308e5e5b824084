#include "live/nccl_profiler/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unistd.h>

namespace live::nccl_profiler {
namespace {

constexpr std::size_t kMostCommunicators = 1024;
constexpr std::int64_t kQuietNs = 20'000'000;              ///< after the last expected event of a run
constexpr std::int64_t kQuietIncompleteNs = 1'000'000'000; ///< where channels that NCCL spoke of have not been heard of

// A handle: what it is, which operation, which part of it. Never 0.
enum class Kind : std::uint8_t { group = 1, call, operation, kernel, proxyOp, step, copies };
constexpr int kPartBits = 8, kSlotBits = 16, kGenerationBits = 32, kKindShift = kPartBits + kSlotBits + kGenerationBits;

constexpr Handle handleOf(Kind kind, std::uint64_t slot = 0, std::uint32_t generation = 0, std::uint64_t part = 0)
{
    return static_cast<Handle>(kind) << kKindShift | static_cast<Handle>(generation) << (kSlotBits + kPartBits) |
           slot << kPartBits | part;
}
constexpr Kind kindOf(Handle handle)
{
    return static_cast<Kind>(handle >> kKindShift);
}
constexpr std::uint32_t slotOf(Handle handle)
{
    return static_cast<std::uint32_t>(handle >> kPartBits) & ((1U << kSlotBits) - 1);
}
constexpr std::uint32_t generationOf(Handle handle)
{
    return static_cast<std::uint32_t>(handle >> (kSlotBits + kPartBits));
}
constexpr int partOf(Handle handle)
{
    return static_cast<int>(handle & ((1U << kPartBits) - 1));
}
/// A call carries when it was made, in place of slot and generation: to 16 ns, for eighteen years after the machine's start.
constexpr int kCallTimeShift = 4;
constexpr Handle handleOfCall(std::int64_t nowNs, bool isCaptured)
{
    constexpr Handle kMask = (Handle{1} << (kKindShift - 1)) - 1;
    return static_cast<Handle>(Kind::call) << kKindShift | ((static_cast<Handle>(nowNs) >> kCallTimeShift & kMask) << 1) |
           (isCaptured ? 1 : 0);
}
constexpr std::int64_t timeOfCall(Handle handle)
{
    return static_cast<std::int64_t>((handle & ((Handle{1} << kKindShift) - 1)) >> 1 << kCallTimeShift);
}

constexpr bool isDeviceTime(std::uint64_t ns)
{
    return ns > 0 && ns < std::uint64_t{1} << 62;
}

template <std::size_t N>
void copyText(std::array<char, N>& to, const char* from)
{
    const std::size_t length = from == nullptr ? 0 : strnlen(from, N - 1);
    if (length > 0)
        std::memcpy(to.data(), from, length);
    to[length] = '\0';
}

} // namespace

Recorder::Recorder(std::size_t operations, std::size_t finished)
    : m_operations(operations), m_finished(finished), m_settling(2 * operations), m_members(kMostCommunicators)
{
    // Handles of a recorder that was before are none of this one's.
    static std::atomic<std::uint32_t> recorders{0};
    constexpr std::uint32_t kApart = 1U << 24;
    const std::uint32_t first = recorders.fetch_add(1) * kApart;
    for (Operation& operation : m_operations)
        operation.generation = first;
}

int Recorder::open(const Communicator& communicator, int interfaceVersion)
{
    const std::lock_guard guard(m_lock);
    for (std::size_t i = 0; i < m_members.size(); ++i)
        if (!m_members[i].isOpen) {
            m_members[i] = {.isOpen = true,
                            .isClosing = false,
                            .interfaceVersion = interfaceVersion,
                            .communicator = communicator,
                            .clock = {}};
            return static_cast<int>(i);
        }
    return -1;
}

bool Recorder::close(int communicator)
{
    const std::lock_guard guard(m_lock);
    if (communicator < 0 || communicator >= static_cast<int>(m_members.size()))
        return true;
    m_members[static_cast<std::size_t>(communicator)].isClosing = true;
    for (std::size_t i = 0; i < m_operations.size(); ++i) {
        Operation& operation = m_operations[(m_next + i) % m_operations.size()]; // the oldest first
        if (!operation.isLive || operation.communicator != communicator)
            continue;
        const bool isTold = operation.run.opened > 0 || !operation.wasRun;
        if (isTold && m_finishedCount == m_finished.size())
            return false;
        if (isTold)
            finish(operation, operation.run.opened > 0 && operation.run.opened == operation.run.closed);
        operation.isLive = false;
    }
    return true;
}

void Recorder::release(int communicator)
{
    const std::lock_guard guard(m_lock);
    if (communicator >= 0 && communicator < static_cast<int>(m_members.size()))
        m_members[static_cast<std::size_t>(communicator)].isOpen = false;
}

bool Recorder::isOpen(int communicator) const
{
    const std::lock_guard guard(m_lock);
    return communicator >= 0 && communicator < static_cast<int>(m_members.size()) &&
           m_members[static_cast<std::size_t>(communicator)].isOpen;
}

Recorder::Operation* Recorder::operationOf(Handle handle)
{
    const std::uint32_t slot = slotOf(handle);
    if (slot >= m_operations.size())
        return nullptr;
    Operation& operation = m_operations[slot];
    if (operation.isLive && operation.generation == generationOf(handle))
        return &operation;
    ++m_lost.events;
    return nullptr;
}

void Recorder::reset(Execution& run) const
{
    run.started = run.stopped = 0;
    run.isDeviceClock = false;
    run.proxyCount = run.opened = run.closed = 0;
    run.lastFirstNs = kNoTime;
    run.lastEventNs = 0;
}

void Recorder::finish(Operation& operation, bool isOver)
{
    operation.wasRun = true;
    if (m_finishedCount == m_finished.size()) {
        ++m_lost.operations;
    } else {
        Finished& place = m_finished[(m_firstFinished + m_finishedCount++) % m_finished.size()];
        place.communicator = operation.communicator;
        place.isOver = isOver;
        place.call = operation.call;
        Execution& to = place.run;
        const Execution& from = operation.run;
        to.started = from.started;
        to.stopped = from.stopped;
        to.isDeviceClock = from.isDeviceClock;
        to.kernelStartNs = from.kernelStartNs;
        to.kernelStopNs = from.kernelStopNs;
        to.proxyCount = from.proxyCount;
        std::copy_n(from.proxies.begin(), from.proxyCount, to.proxies.begin());
        to.opened = from.opened;
        to.closed = from.closed;
        to.lastFirstNs = from.lastFirstNs;
        to.lastEventNs = from.lastEventNs;
    }
    if (m_finishedCount * 2 >= m_finished.size())
        m_isFilling.store(true, std::memory_order_relaxed);
    reset(operation.run);
}

Handle Recorder::start(int communicator, const Event& event, std::int64_t nowNs)
{
    switch (event.type) {
    case abi::kGroup:
    case abi::kGroupCall:
        return handleOf(Kind::group); // without one NCCL before 2.28 tells of no operation
    case abi::kCollectiveCall:
    case abi::kPointToPointCall:
        return handleOfCall(nowNs, event.isCaptured);
    default:
        break;
    }
    const std::lock_guard guard(m_lock);
    if (communicator < 0 || communicator >= static_cast<int>(m_members.size()) ||
        !m_members[static_cast<std::size_t>(communicator)].isOpen || m_members[static_cast<std::size_t>(communicator)].isClosing)
        return 0;
    switch (event.type) {
    case abi::kCollective:
    case abi::kPointToPoint:
    case abi::kCopyCollective:
        return startOperation(communicator, event, nowNs);
    case abi::kKernelChannel:
        return startKernel(event, nowNs);
    case abi::kProxyOp:
        return startProxyOp(event, nowNs);
    case abi::kProxyStep:
        return startStep(event);
    default:
        return 0;
    }
}

/// The next in turn, past those that run or have yet to begin; of a long row of these the first has to go.
std::size_t Recorder::slotForOne()
{
    constexpr std::size_t kMostPassed = 64;
    for (std::size_t passed = 0; passed < kMostPassed; ++passed) {
        const std::size_t slot = (m_next + passed) % m_operations.size();
        const Operation& operation = m_operations[slot];
        const bool isDone = operation.run.opened == operation.run.closed && (operation.run.opened > 0 || operation.wasRun);
        if (operation.isLive && !isDone)
            continue;
        m_next += passed + 1;
        return slot;
    }
    return m_next++ % m_operations.size();
}

Handle Recorder::startOperation(int communicator, const Event& event, std::int64_t nowNs)
{
    Member& member = m_members[static_cast<std::size_t>(communicator)];
    if (member.communicator.hash == 0 && event.hash != 0) {
        member.communicator.hash = event.hash;
        copyText(member.communicator.name, event.communicator);
    }
    if (member.communicator.rank < 0)
        member.communicator.rank = event.rank;
    const std::size_t slot = slotForOne();
    Operation& operation = m_operations[slot];
    if (operation.isLive && (operation.run.opened > 0 || !operation.wasRun))
        finish(operation, operation.run.opened > 0 && operation.run.opened == operation.run.closed);
    ++operation.generation;
    operation.isLive = true;
    operation.wasRun = operation.isSettling = false;
    operation.communicator = communicator;
    Call& call = operation.call;
    copyText(call.function, event.function);
    copyText(call.dtype, event.dtype);
    copyText(call.algorithm, event.algorithm);
    copyText(call.protocol, event.protocol);
    call.count = event.count;
    call.sequence = event.sequence;
    call.other = event.other;
    call.channels = event.channels;
    call.isPointToPoint = event.type == abi::kPointToPoint;
    call.isByCopyEngines = event.type == abi::kCopyCollective;
    const bool isAsked = kindOf(event.parent) == Kind::call;
    call.isCaptured = isAsked && (event.parent & 1) != 0;
    call.askedNs = isAsked ? timeOfCall(event.parent) : nowNs;
    call.enqueuedNs = kNoTime;
    reset(operation.run);
    return handleOf(call.isByCopyEngines ? Kind::copies : Kind::operation, slot, operation.generation);
}

Handle Recorder::startKernel(const Event& event, std::int64_t nowNs)
{
    if (kindOf(event.parent) != Kind::operation || event.channel < 0 || event.channel >= kMostChannels)
        return 0;
    Operation* operation = operationOf(event.parent);
    if (operation == nullptr)
        return 0;
    const std::uint64_t bit = std::uint64_t{1} << event.channel;
    if ((operation->run.started & bit) != 0) // a graph runs it once more
        finish(*operation, operation->run.opened == operation->run.closed);
    Execution& run = operation->run;
    DeviceClock& clock = m_members[static_cast<std::size_t>(operation->communicator)].clock;
    const auto channel = static_cast<std::size_t>(event.channel);
    const std::int64_t deviceNs = isDeviceTime(event.deviceNs) ? static_cast<std::int64_t>(event.deviceNs) : 0;
    if (run.started == 0)
        run.isDeviceClock = deviceNs > 0;
    run.started |= bit;
    ++run.opened;
    run.lastEventNs = nowNs;
    run.kernelStopNs[channel] = kNoTime;
    if (run.isDeviceClock && deviceNs > 0)
        clock.take(deviceNs, nowNs);
    run.kernelStartNs[channel] = !run.isDeviceClock ? nowNs : deviceNs > 0 ? deviceNs : nowNs - clock.onHost(0);
    return handleOf(Kind::kernel, slotOf(event.parent), operation->generation, channel);
}

Handle Recorder::startProxyOp(const Event& event, std::int64_t nowNs)
{
    if (event.pid != ::getpid()) { // its parent is a handle of that process
        ++m_lost.foreign;
        return 0;
    }
    if (kindOf(event.parent) != Kind::operation)
        return 0;
    Operation* operation = operationOf(event.parent);
    if (operation == nullptr)
        return 0;
    // The next run of a graph, whose kernel has not been heard of yet.
    if (operation->call.isCaptured && operation->run.started != 0 && operation->run.opened == operation->run.closed)
        finish(*operation, true);
    Execution& run = operation->run;
    if (run.proxyCount == kMostProxyOps)
        return 0;
    const auto place = static_cast<std::size_t>(run.proxyCount++);
    run.proxies[place] = {.startNs = nowNs,
                          .peer = event.other,
                          .steps = event.steps,
                          .channel = static_cast<std::uint8_t>(event.channel),
                          .isSend = event.isSend};
    ++run.opened;
    run.lastEventNs = nowNs;
    return handleOf(Kind::proxyOp, slotOf(event.parent), operation->generation, place);
}

/// Only the first message tells who was waited for; NCCL is spared the rest.
Handle Recorder::startStep(const Event& event)
{
    if (kindOf(event.parent) != Kind::proxyOp)
        return 0;
    Operation* operation = operationOf(event.parent);
    const int place = partOf(event.parent);
    if (operation == nullptr || place >= operation->run.proxyCount ||
        operation->run.proxies[static_cast<std::size_t>(place)].firstNs != kNoTime)
        return 0;
    return handleOf(Kind::step, slotOf(event.parent), operation->generation, static_cast<std::uint64_t>(place));
}

void Recorder::state(Handle handle, int state, std::uint64_t deviceNs, std::int64_t nowNs)
{
    const Kind kind = kindOf(handle);
    if (kind != Kind::kernel && kind != Kind::step)
        return;
    const std::lock_guard guard(m_lock);
    Operation* operation = operationOf(handle);
    if (operation == nullptr)
        return;
    if (kind == Kind::kernel) {
        if (state == abi::kKernelChannelStop)
            stopKernel(*operation, partOf(handle), deviceNs, nowNs);
        return;
    }
    const auto place = static_cast<std::size_t>(partOf(handle));
    if (partOf(handle) >= operation->run.proxyCount)
        return;
    ProxyUse& proxy = operation->run.proxies[place];
    const bool isFirst = proxy.isSend ? state == abi::kSendWaitsForNetwork
                                      : state == abi::kReceiveWaitsForFlush || state == abi::kReceiveWaitsForDevice;
    if (!isFirst || proxy.firstNs != kNoTime)
        return;
    proxy.firstNs = nowNs;
    operation->run.lastFirstNs = std::max(operation->run.lastFirstNs, nowNs);
    operation->run.lastEventNs = nowNs;
}

void Recorder::stopKernel(Operation& operation, int part, std::uint64_t deviceNs, std::int64_t nowNs)
{
    Execution& run = operation.run;
    const auto channel = static_cast<std::size_t>(part);
    if (part >= kMostChannels || (run.started >> channel & 1) == 0 || (run.stopped >> channel & 1) != 0)
        return;
    run.lastEventNs = nowNs;
    if (run.isDeviceClock && !isDeviceTime(deviceNs)) // one clock for start and end: stop() says it
        return;
    run.kernelStopNs[channel] = run.isDeviceClock ? static_cast<std::int64_t>(deviceNs) : nowNs;
    if (run.isDeviceClock)
        m_members[static_cast<std::size_t>(operation.communicator)].clock.take(run.kernelStopNs[channel], nowNs);
}

void Recorder::stop(Handle handle, std::int64_t nowNs)
{
    const Kind kind = kindOf(handle);
    if (kind < Kind::operation || kind > Kind::copies || kind == Kind::step)
        return;
    const std::lock_guard guard(m_lock);
    Operation* operation = operationOf(handle);
    if (operation == nullptr)
        return;
    Execution& run = operation->run;
    switch (kind) {
    case Kind::operation:
        operation->call.enqueuedNs = nowNs;
        return;
    case Kind::copies: // when it ends nobody says
        operation->call.enqueuedNs = nowNs;
        finish(*operation, true);
        operation->isLive = false;
        return;
    case Kind::kernel: {
        const auto channel = static_cast<std::size_t>(partOf(handle));
        if (partOf(handle) >= kMostChannels || (run.started >> channel & 1) == 0 || (run.stopped >> channel & 1) != 0)
            return;
        if (run.kernelStopNs[channel] == kNoTime) { // v3 has no state for it
            if (run.isDeviceClock)
                run.kernelStopNs[channel] =
                    std::max(run.kernelStartNs[channel],
                             nowNs - m_members[static_cast<std::size_t>(operation->communicator)].clock.onHost(0));
            else
                run.kernelStopNs[channel] = nowNs;
        }
        run.stopped |= std::uint64_t{1} << channel;
        break;
    }
    case Kind::proxyOp: {
        if (partOf(handle) >= run.proxyCount || run.proxies[static_cast<std::size_t>(partOf(handle))].stopNs != kNoTime)
            return;
        run.proxies[static_cast<std::size_t>(partOf(handle))].stopNs = nowNs;
        break;
    }
    default:
        return;
    }
    ++run.closed;
    closeOne(*operation, slotOf(handle), nowNs);
}

void Recorder::closeOne(Operation& operation, std::uint32_t slot, std::int64_t nowNs)
{
    operation.run.lastEventNs = nowNs;
    if (operation.run.opened != operation.run.closed || operation.isSettling || m_settlingCount == m_settling.size())
        return;
    operation.isSettling = true;
    m_settling[(m_firstSettling + m_settlingCount++) % m_settling.size()] = {slot, operation.generation, nowNs};
}

bool Recorder::settle(std::int64_t nowNs)
{
    const std::lock_guard guard(m_lock);
    for (std::size_t left = m_settlingCount; left > 0; --left) {
        const Settling first = m_settling[m_firstSettling];
        if (nowNs - first.sinceNs < kQuietNs)
            return true;
        if (m_finishedCount == m_finished.size())
            return false;
        m_firstSettling = (m_firstSettling + 1) % m_settling.size();
        --m_settlingCount;
        Operation& operation = m_operations[first.slot];
        if (!operation.isLive || operation.generation != first.generation)
            continue;
        operation.isSettling = false;
        const Execution& run = operation.run;
        if (run.opened == 0 || run.opened != run.closed)
            continue; // its next end puts it here again
        const bool hasKernels = m_members[static_cast<std::size_t>(operation.communicator)].interfaceVersion >= 3;
        const int heard = hasKernels ? std::popcount(run.stopped) : operation.call.channels;
        const std::int64_t quiet = heard == 0 || heard < operation.call.channels ? kQuietIncompleteNs : kQuietNs;
        if (nowNs - run.lastEventNs >= quiet) {
            finish(operation, true);
        } else {
            operation.isSettling = true;
            m_settling[(m_firstSettling + m_settlingCount++) % m_settling.size()] = {first.slot, first.generation, nowNs};
        }
    }
    return true;
}

bool Recorder::take(Finished& into)
{
    const std::lock_guard guard(m_lock);
    if (m_finishedCount == 0)
        return false;
    const Finished& from = m_finished[m_firstFinished];
    into = from;
    m_firstFinished = (m_firstFinished + 1) % m_finished.size();
    if (--m_finishedCount == 0)
        m_isFilling.store(false, std::memory_order_relaxed);
    const Member& member = m_members[static_cast<std::size_t>(into.communicator)];
    into.interfaceVersion = member.interfaceVersion;
    if (into.run.isDeviceClock)
        for (int c = 0; c < kMostChannels; ++c)
            for (auto* times : {&into.run.kernelStartNs, &into.run.kernelStopNs}) {
                std::int64_t& time = (*times)[static_cast<std::size_t>(c)];
                if ((into.run.started >> c & 1) != 0 && time != kNoTime)
                    time = member.clock.onHost(time);
            }
    return true;
}

Communicator Recorder::communicator(int index) const
{
    const std::lock_guard guard(m_lock);
    return m_members.at(static_cast<std::size_t>(index)).communicator;
}

Recorder::Lost Recorder::lost() const
{
    const std::lock_guard guard(m_lock);
    return m_lost;
}

} // namespace live::nccl_profiler
