#include "live/emulated/local_store.h"

#include "live/emulated/machine.h"
#include "live/record/recorder.h"
#include "sim/error.h"

#include <map>
#include <mutex>
#include <utility>

namespace live::emulated {
namespace {

struct Table {
    std::mutex mutex;
    std::map<std::string, std::string> values;
    std::map<std::string, std::int64_t> sums, arrivals;
    std::map<int, Store::AbortHandler> handlers;
    int nextHandler = 0;
    std::string why;
};

class LocalStore final : public Store {
public:
    LocalStore(Machine& machine, std::shared_ptr<Table> table, int process, int processes)
        : m_machine(machine), m_table(std::move(table)), m_process(process), m_processes(processes)
    {
    }
    int process() const override { return m_process; }
    int processes() const override { return m_processes; }
    int port() const override { return 0; }
    std::string address() const override { return "127.0.0.1"; }

    void set(const std::string& key, const std::string& value) override
    {
        const std::lock_guard lock(m_table->mutex);
        m_table->values[key] = value;
    }
    std::string get(const std::string& key) override
    {
        waitFor("waits in the store for " + key, [&] { return m_table->values.contains(key); });
        const std::lock_guard lock(m_table->mutex);
        return m_table->values.at(key);
    }
    std::int64_t add(const std::string& key, std::int64_t value) override
    {
        const std::lock_guard lock(m_table->mutex);
        return m_table->sums[key] += value;
    }
    void barrier(const std::string& name) override
    {
        std::int64_t turn = 0;
        {
            const std::lock_guard lock(m_table->mutex);
            turn = m_table->arrivals[name]++ / m_processes;
        }
        waitFor("waits for all at the barrier " + name, [&] { return m_table->arrivals[name] >= (turn + 1) * m_processes; });
    }

    void abort(const std::string& why) override
    {
        std::map<int, AbortHandler> handlers;
        {
            const std::lock_guard lock(m_table->mutex);
            if (!m_table->why.empty())
                return;
            m_table->why = why;
            handlers = m_table->handlers;
        }
        for (const auto& [number, handler] : handlers)
            handler(why);
        m_machine.nudge();
    }
    std::string abortReason() const override
    {
        const std::lock_guard lock(m_table->mutex);
        return m_table->why;
    }
    std::shared_ptr<void> onAbort(AbortHandler handler) override
    {
        if (const std::string why = abortReason(); !why.empty())
            handler(why);
        const std::lock_guard lock(m_table->mutex);
        const int number = m_table->nextHandler++;
        m_table->handlers[number] = std::move(handler);
        return {m_table.get(), [number, table = m_table](void*) {
                    const std::lock_guard held(table->mutex);
                    table->handlers.erase(number);
                }};
    }
    ClockSample sampleClock() override
    {
        const std::int64_t now = nowNs();
        return {now, now, now};
    }

private:
    template <class Ready>
    void waitFor(const std::string& what, const Ready& ready)
    {
        m_machine.waitUntil(
            [&] {
                const std::lock_guard lock(m_table->mutex);
                return !m_table->why.empty() || ready();
            },
            [&] {
                return Wait{nullptr, -1, what};
            });
        const std::string why = abortReason();
        if (!why.empty())
            throw sim::Error(why);
    }

    Machine& m_machine;
    const std::shared_ptr<Table> m_table;
    const int m_process, m_processes;
};

} // namespace

std::vector<std::unique_ptr<Store>> makeLocalStores(Machine& machine, int processes)
{
    const auto table = std::make_shared<Table>();
    std::vector<std::unique_ptr<Store>> stores;
    for (int process = 0; process < processes; ++process)
        stores.push_back(std::make_unique<LocalStore>(machine, table, process, processes));
    return stores;
}

} // namespace live::emulated
