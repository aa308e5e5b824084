// Remembers what was asked for lately, and no more than a fixed number of it: shapes change with every micro-batch of experts.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

namespace live {

/// Two generations: when the young one is full it becomes the old one, whose entries go unless they were asked for again.
/// O(log n).
template <class Key, class Value>
class BoundedCache {
public:
    /// `most`: entries of each generation.
    explicit BoundedCache(std::size_t most) : m_most(most) {}

    /// The key's value; null where it is not remembered. Valid until the next call.
    Value* find(const Key& key)
    {
        if (const auto known = m_young.find(key); known != m_young.end())
            return &known->second;
        auto again = m_old.extract(key);
        if (!again)
            return nullptr;
        makeRoom();
        return &m_young.insert(std::move(again)).position->second;
    }
    /// The same, from make() where it is not remembered. Where that throws nothing is.
    template <class Make>
    Value& get(const Key& key, const Make& make)
    {
        if (Value* const known = find(key))
            return *known;
        Value made = make();
        makeRoom();
        return m_young.emplace(key, std::move(made)).first->second;
    }
    std::size_t size() const { return m_young.size() + m_old.size(); }

private:
    void makeRoom()
    {
        if (m_young.size() >= m_most)
            m_old = std::exchange(m_young, {});
    }
    const std::size_t m_most;
    std::map<Key, Value> m_young, m_old;
};

} // namespace live
