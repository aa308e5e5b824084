// What happens when: events of one instant lie together, in the order in which they came, so that ranks that do the same are
// looked at in the order in which they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

template <typename Event>
class EventQueue {
public:
    bool empty() const { return m_instants.empty(); }
    std::int64_t nextNs() const { return m_instants.top().ns; }
    void push(std::int64_t ns, const Event& event)
    {
        if (ns != m_lastNs || m_last == nullptr) {
            const auto [found, isNew] = m_at.try_emplace(ns, 0U);
            if (isNew) {
                if (m_unused.empty()) {
                    m_unused.push_back(m_events.size());
                    m_events.emplace_back();
                }
                found->second = m_unused.back();
                m_unused.pop_back();
                m_instants.push({ns, found->second});
            }
            m_lastNs = ns;
            m_last = &m_events[found->second];
        }
        m_last->push_back(event);
    }
    /// The events of the next instant, put into `out` in place of what is there.
    void takeNext(std::vector<Event>& out)
    {
        const auto [ns, bucket] = m_instants.top();
        m_instants.pop();
        m_at.erase(ns);
        m_last = nullptr;
        out.clear();
        out.swap(m_events[bucket]);
        m_unused.push_back(bucket);
    }

private:
    struct Instant {
        std::int64_t ns = 0;
        std::size_t bucket = 0;
        bool operator<(const Instant& other) const { return ns > other.ns; } // the earliest on top
    };
    std::priority_queue<Instant> m_instants;
    std::unordered_map<std::int64_t, std::size_t> m_at; ///< instant -> bucket
    std::vector<std::vector<Event>> m_events;           ///< [bucket]
    std::vector<std::size_t> m_unused;                  ///< buckets
    std::int64_t m_lastNs = 0;                          ///< of what was pushed last
    std::vector<Event>* m_last = nullptr;
};

} // namespace sim
