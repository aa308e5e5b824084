// A cache that many threads ask at once: what is not known is made without holding anybody else up.
#pragma once

#include "live/kernels/bounded_cache.h"

#include <memory>
#include <mutex>

namespace live {

/// Any thread.
template <class Key, class Value>
class SharedCache {
public:
    /// `most`: see BoundedCache.
    explicit SharedCache(std::size_t most) : m_values(most) {}

    /// The key's value, from make() (a std::shared_ptr<Value>) where it is not known. Several may make the same; all get the
    /// first that was done. Where make() throws nothing is kept.
    template <class Make>
    std::shared_ptr<Value> get(const Key& key, const Make& make)
    {
        {
            const std::lock_guard lock(m_mutex);
            if (std::shared_ptr<Value>* const known = m_values.find(key))
                return *known;
        }
        std::shared_ptr<Value> made = make();
        const std::lock_guard lock(m_mutex);
        return m_values.get(key, [&] { return std::move(made); });
    }

private:
    std::mutex m_mutex;
    BoundedCache<Key, std::shared_ptr<Value>> m_values;
};

} // namespace live
