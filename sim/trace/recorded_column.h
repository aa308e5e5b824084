// Many values of one kind: its own, or lying in a file that is mapped into memory and never copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace sim {

/// A vector that may stand for bytes of somebody else. Whoever changes one that does gets a copy of its own first; who only reads
/// it through a const reference never does.
template <typename T>
class RecordedColumn {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    RecordedColumn() = default;
    RecordedColumn(std::vector<T> values) : m_own(std::move(values)) {} // a vector is one
    /// `keeper` holds the bytes as long as anybody looks at them.
    RecordedColumn(std::span<const T> values, std::shared_ptr<const void> keeper) : m_other(values), m_keeper(std::move(keeper))
    {
    }

    std::size_t size() const { return m_keeper ? m_other.size() : m_own.size(); }
    bool empty() const { return size() == 0; }
    const T* data() const { return m_keeper ? m_other.data() : m_own.data(); }
    const T& operator[](std::size_t i) const { return data()[i]; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size(); }
    const T& front() const { return data()[0]; }
    const T& back() const { return data()[size() - 1]; }
    /// Bytes of memory that are its own.
    std::size_t memoryBytes() const { return m_own.capacity() * sizeof(T); }

    /// The values, to change them.
    std::vector<T>& own()
    {
        if (m_keeper) {
            m_own.assign(m_other.begin(), m_other.end());
            m_other = {};
            m_keeper.reset();
        }
        return m_own;
    }
    T& operator[](std::size_t i) { return own()[i]; }
    T* begin() { return own().data(); }
    T* end() { return own().data() + m_own.size(); }
    void push_back(const T& value) { own().push_back(value); }
    void assign(std::size_t count, const T& value) { own().assign(count, value); }
    void clear() { own().clear(); }
    void append(const RecordedColumn& more)
    {
        std::vector<T>& to = own();
        to.insert(to.end(), more.begin(), more.end());
    }
    bool operator==(const RecordedColumn& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
    std::vector<T> m_own;
    std::span<const T> m_other;
    std::shared_ptr<const void> m_keeper; ///< set: m_other counts
};

} // namespace sim
