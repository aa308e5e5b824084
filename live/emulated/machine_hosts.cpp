// The machine's hosts: threads of programs that use GPUs, one of which runs at a time. Who waits hands its turn over, lets the
// GPUs go on or, where nobody can, ends the run with the circle.
#include "live/emulated/machine_parts.h"
#include "live/emulated/wire.h"
#include "sim/error.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace live::emulated {
namespace {

/// Which host of which machine this thread is.
struct Self {
    std::uint64_t machine = 0;
    int host = -1;
};
thread_local Self t_self; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

} // namespace

int Machine::addHost(const std::string& name)
{
    auto host = std::make_unique<Host>();
    host->number = static_cast<int>(m_hosts.size());
    host->name = name;
    m_hosts.push_back(std::move(host));
    return m_hosts.back()->number;
}

Machine::Host* Machine::selfIfHost() const
{
    return t_self.machine == m_id ? m_hosts[static_cast<std::size_t>(t_self.host)].get() : nullptr;
}

Machine::Host& Machine::self(Lock& lock)
{
    if (Host* const known = selfIfHost())
        return *known;
    t_self = {m_id, addHost("the process")};
    Host& host = *m_hosts.back();
    if (!m_turn)
        m_turn = &host;
    host.turn.wait(lock, [&] { return m_turn == &host; });
    return host;
}

int Machine::callingHost()
{
    Lock lock(m_mutex);
    return self(lock).number;
}

bool Machine::isHost() const
{
    return t_self.machine == m_id;
}

int Machine::hostCalled(const std::string& name) const
{
    const auto place = std::find_if(m_hosts.begin(), m_hosts.end(), [&](const auto& host) { return host->name == name; });
    return place == m_hosts.end() ? -1 : (*place)->number;
}

void Machine::throwIfFailed() const
{
    if (!m_failure.empty())
        throw sim::Error(m_failure);
}

Machine::Host* Machine::another(const Host* than)
{
    const std::size_t count = m_hosts.size();
    const std::size_t start = count > 1 ? random(count) : 0;
    for (std::size_t i = 0; i < count; ++i) {
        Host& host = *m_hosts[(start + i) % count];
        if (&host != than && !host.ended && !host.away && (!host.ready || !m_failure.empty() || (*host.ready)()))
            return &host;
    }
    return nullptr;
}

void Machine::handOver(Lock& lock, Host& from, Host& to)
{
    m_turn = &to;
    to.turn.notify_one();
    from.turn.wait(lock, [&] { return m_turn == &from; });
}

void Machine::waitUntil(Lock& lock, Host& host, const std::function<bool()>& ready, const std::function<Wait()>& why)
{
    throwIfFailed();
    if (ready())
        return;
    ++m_statistics.hostWaits;
    const std::function<bool()>* const readyBefore = std::exchange(host.ready, &ready);
    const std::function<Wait()>* const whyBefore = std::exchange(host.why, &why);
    while (m_failure.empty() && !ready()) {
        Host* const other = another(&host);
        if (other && random(2) == 0)
            handOver(lock, host, *other);
        else if (runOne()) // not the other way round: an operation may make this host ready
            continue;
        else if (other)
            handOver(lock, host, *other);
        else if (m_wire)
            pollWire(lock);
        else if (!isBeingEnded(lock))
            fail(stuck({nullptr, host.number, {}}));
    }
    host.ready = readyBefore;
    host.why = whyBefore;
    throwIfFailed();
}

void Machine::waitUntil(const std::function<bool()>& ready, const std::function<Wait()>& why)
{
    Lock lock(m_mutex);
    waitUntil(lock, self(lock), ready, why);
}

void Machine::idle(const std::string& waitsFor)
{
    Lock lock(m_mutex);
    Host& host = self(lock);
    const std::uint64_t before = m_progress;
    waitUntil(
        lock, host, [&] { return m_nudged || m_progress != before; },
        [&] {
            // Whatever it is, it hangs on the oldest operation that this host has put somewhere.
            const Operation* oldest = nullptr;
            for (const Gpu& gpu : m_gpus)
                for (const auto& stream : gpu.streams)
                    if (const Operation* const operation = oldestOf(*stream);
                        operation && operation->host == host.number && (!oldest || operation->number < oldest->number))
                        oldest = operation;
            return Wait{oldest, -1, waitsFor + (oldest ? ": its oldest operation is " + nameOf(*oldest) : "")};
        });
}

void Machine::pollWire(Lock& lock)
{
    try {
        const bool moved = m_wire->poll();
        if (onWire)
            onWire();
        m_completed.clear();
        if (moved)
            return;
    } catch (const std::exception& error) {
        return fail(error.what());
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(20)); // others too want the processor
    lock.lock();
}

void Machine::connect(std::shared_ptr<Wire> wire)
{
    const std::lock_guard lock(m_mutex);
    m_wire = std::move(wire);
}

void Machine::breathe(Lock& lock, Host& host)
{
    if (random(256) < m_haste)
        return;
    const std::uint64_t turns = 1 + random(4);
    for (std::uint64_t i = 0; i < turns && m_failure.empty(); ++i) {
        Host* const other = m_hosts.size() > 1 && random(4) == 0 ? another(&host) : nullptr;
        if (other)
            handOver(lock, host, *other);
        else
            runOne();
    }
    throwIfFailed();
}

bool Machine::isBeingEnded(Lock& lock)
{
    constexpr std::chrono::seconds kAtMost{10};
    if (!m_nudged || std::chrono::steady_clock::now() - m_nudgedAt > kAtMost)
        return false;
    pause(lock);
    return true;
}

void Machine::pause(Lock& lock)
{
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
}

bool Machine::waitBeside(const std::function<bool()>& ready, const std::function<Wait()>& why)
{
    constexpr std::chrono::seconds kAtMost{10};
    const auto end = std::chrono::steady_clock::now() + kAtMost;
    Lock lock(m_mutex);
    if (Host* const host = selfIfHost()) {
        try {
            waitUntil(lock, *host, ready, why);
        } catch (const sim::Error&) { // it is kept as the machine's failure
            return false;
        }
        return true;
    }
    while (m_failure.empty() && !ready()) {
        if (runOne())
            continue;
        if (const Wait at = why(); std::chrono::steady_clock::now() > end)
            fail("a thread beside the hosts " + at.why + (at.operation ? "; " + stuck(at) : ""));
        else if (m_wire)
            pollWire(lock);
        else
            pause(lock);
    }
    return m_failure.empty();
}

void Machine::leave(Lock& lock)
{
    for (;;) {
        if (Host* const other = another(nullptr)) {
            m_turn = other;
            other->turn.notify_one();
            return;
        }
        if (m_failure.empty() && runOne())
            continue;
        m_turn = nullptr;
        const auto waiting =
            std::find_if(m_hosts.begin(), m_hosts.end(), [](const auto& host) { return !host->ended && !host->away; });
        if (waiting == m_hosts.end() || !m_failure.empty())
            return;
        if (!isBeingEnded(lock))
            fail(stuck({nullptr, (*waiting)->number, {}}));
    }
}

void Machine::runHosts(const std::vector<std::string>& names, const std::function<void(int)>& body)
{
    std::vector<std::exception_ptr> failures(names.size());
    std::size_t left = names.size(), firstFailed = names.size();
    std::condition_variable allEnded;
    std::vector<std::thread> threads;
    const auto run = [&](std::size_t place, int number) {
        t_self = {m_id, number};
        Host* host = nullptr;
        {
            Lock lock(m_mutex);
            host = m_hosts[static_cast<std::size_t>(number)].get();
            host->turn.wait(lock, [&] { return m_turn == host; });
        }
        std::exception_ptr failure;
        try {
            body(static_cast<int>(place));
        } catch (...) {
            failure = std::current_exception();
        }
        Lock lock(m_mutex);
        failures[place] = failure;
        if (failure && firstFailed == names.size())
            firstFailed = place;
        host->ended = true;
        t_self = {};
        if (--left == 0) {
            m_turn = nullptr;
            allEnded.notify_one();
        } else {
            leave(lock);
        }
    };
    {
        Lock lock(m_mutex);
        Host* const caller = selfIfHost();
        if (caller)
            caller->away = true;
        const auto first = static_cast<int>(m_hosts.size());
        for (const std::string& name : names)
            addHost(name);
        for (std::size_t i = 0; i < names.size(); ++i)
            threads.emplace_back(run, i, first + static_cast<int>(i));
        m_turn = m_hosts[static_cast<std::size_t>(first) + random(names.size())].get();
        m_turn->turn.notify_one();
        allEnded.wait(lock, [&] { return left == 0; });
        if (caller)
            caller->away = false;
        m_turn = caller;
    }
    for (std::thread& thread : threads)
        thread.join();
    if (firstFailed < names.size())
        std::rethrow_exception(failures[firstFailed]);
}

void Machine::learn(Host& host, const Clock& clock)
{
    auto more = std::make_shared<Clock>(*host.clock);
    if (more->join(clock))
        host.clock = std::move(more);
}

void Machine::nudge()
{
    const std::lock_guard lock(m_mutex);
    m_nudgedAt = std::chrono::steady_clock::now();
    m_nudged = true;
}

} // namespace live::emulated
