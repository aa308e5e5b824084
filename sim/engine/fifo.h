// First in, first out, without memory until something is in: there are many of these, and most stay empty.
#pragma once

#include <cstddef>
#include <vector>

namespace sim {

template <typename Value>
class Fifo {
public:
    bool empty() const { return m_head == m_values.size(); }
    Value& front() { return m_values[m_head]; }
    /// Number of the front.
    std::size_t first() const { return m_forgotten + m_head; }
    /// Number of the one that is pushed next, counted from the first ever.
    std::size_t next() const { return m_forgotten + m_values.size(); }
    Value& operator[](std::size_t number) { return m_values[number - m_forgotten]; }
    const Value& operator[](std::size_t number) const { return m_values[number - m_forgotten]; }
    /// A new one at the end, to be filled in where it lies.
    Value& push() { return m_values.emplace_back(); }
    void pop()
    {
        constexpr std::size_t kKept = 64; // forgetting moves what is left
        ++m_head;
        if (!empty() && (m_head < kKept || 2 * m_head < m_values.size()))
            return;
        m_values.erase(m_values.begin(), m_values.begin() + static_cast<std::ptrdiff_t>(m_head));
        m_forgotten += m_head;
        m_head = 0;
    }

private:
    std::vector<Value> m_values;
    std::size_t m_head = 0, m_forgotten = 0;
};

} // namespace sim
