// What happens when: events of one instant lie together, in the order in which they came, so that ranks that do the same are
// looked at in the order in which they lie in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace sim {

template <typename Event>
class EventQueue {
public:
    bool empty() const { return m_instants.empty(); }
    std::int64_t nextNs() const { return m_instants.top().ns; }
    /// `ns` is not negative.
    void push(std::int64_t ns, const Event& event)
    {
        std::size_t& recent = m_recent[static_cast<std::size_t>(ns ^ ns >> 6U) % m_recent.size()];
        if (recent >= m_buckets.size() || m_buckets[recent].ns != ns) {
            if (m_unused.empty()) {
                m_unused.push_back(m_buckets.size());
                m_buckets.emplace_back();
            }
            recent = m_unused.back();
            m_unused.pop_back();
            m_buckets[recent].ns = ns;
            m_instants.push({ns, m_pushed++, recent});
        }
        m_buckets[recent].events.push_back(event);
    }
    /// The events of the next instant, put into `out` in place of what is there.
    void takeNext(std::vector<Event>& out)
    {
        const std::int64_t ns = nextNs();
        for (bool isFirst = true; !m_instants.empty() && m_instants.top().ns == ns; m_instants.pop(), isFirst = false) {
            Bucket& bucket = m_buckets[m_instants.top().bucket];
            if (isFirst) // and the bucket gets what is in `out`, to be cleared behind it
                out.swap(bucket.events);
            else
                out.insert(out.end(), bucket.events.begin(), bucket.events.end());
            bucket.events.clear();
            bucket.ns = -1;
            m_unused.push_back(m_instants.top().bucket);
        }
    }

private:
    /// Events of one instant; another bucket may have more of it.
    struct Bucket {
        std::int64_t ns = -1;
        std::vector<Event> events;
    };
    struct Instant {
        std::int64_t ns = 0;
        std::uint64_t number = 0; ///< in the order of coming
        std::size_t bucket = 0;
        bool operator<(const Instant& other) const // the earliest on top
        {
            return ns != other.ns ? ns > other.ns : number > other.number;
        }
    };
    std::priority_queue<Instant> m_instants;
    std::vector<Bucket> m_buckets;
    std::vector<std::size_t> m_unused;
    std::array<std::size_t, 64> m_recent{}; ///< buckets of instants that something was pushed to
    std::uint64_t m_pushed = 0;
};

} // namespace sim
