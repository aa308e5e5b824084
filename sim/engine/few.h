// Mostly few values, in place; more of them in a vector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sim {

template <typename Value, std::size_t kInPlace>
class Few {
public:
    Value* begin() { return isInPlace() ? m_few.data() : m_many->data(); }
    Value* end() { return begin() + m_size; }
    const Value* begin() const { return isInPlace() ? m_few.data() : m_many->data(); }
    const Value* end() const { return begin() + m_size; }
    Value& back() { return *(end() - 1); }
    void push_back(const Value& value)
    {
        if (m_size == kInPlace) {
            if (!m_many)
                m_many = std::make_unique<std::vector<Value>>();
            m_many->assign(m_few.begin(), m_few.end());
        }
        ++m_size;
        if (isInPlace())
            m_few[m_size - 1] = value;
        else
            m_many->push_back(value);
    }
    void pop_back()
    {
        --m_size;
        if (m_size > kInPlace)
            m_many->pop_back();
        else if (m_size == kInPlace)
            for (std::size_t i = 0; i < kInPlace; ++i)
                m_few[i] = (*m_many)[i];
    }
    template <typename Iterator>
    void assign(Iterator first, Iterator last)
    {
        clear();
        for (; first != last; ++first)
            push_back(*first);
    }
    void clear() { m_size = 0; }

private:
    bool isInPlace() const { return m_size <= kInPlace; }
    std::uint32_t m_size = 0;
    std::array<Value, kInPlace> m_few{};
    std::unique_ptr<std::vector<Value>> m_many; ///< all of them, where they are more
};

} // namespace sim
