// Launches put aside: what is to be launched and all that it is given, as bytes, so that two steps' launches can be compared and
// either be made.
#pragma once

#include "live/kernels/cuda/runtime.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

namespace live::cuda {

/// Bytes that belong to none of its members become 0: they may hold anything, and equal values would look unequal. (A compiler
/// that has no means to do so leaves them: equal launches may then seem to differ, but never the other way round.)
template <class T>
void clearPadding([[maybe_unused]] T* value)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(value);
#endif
#endif
}

class LaunchTape {
public:
    /// A launch: call(stream) makes it. Its bytes say all of it.
    template <class Call>
    void put(const Call& call)
    {
        static_assert(std::is_trivially_copyable_v<Call> && alignof(Call) <= kAlignment);
        std::byte* const place = append(sizeof(Call), &runCall<Call>);
        std::memcpy(place, &call, sizeof(Call));
        clearPadding(reinterpret_cast<Call*>(place));
        ++m_launches;
    }
    /// A launch that cannot be compared: a tape that has one is the same as none.
    void putOther(std::function<void(Stream)>);
    /// An instant among the launches, which has this number this time.
    void putMark(std::int64_t number);

    bool isEmpty() const { return m_bytes.empty(); }
    std::size_t launches() const { return m_launches; }
    const std::vector<std::int64_t>& marks() const { return m_marks; }
    /// Whether running it would do the same. Marks may have other numbers.
    bool isSameAs(const LaunchTape& other) const
    {
        return m_others.empty() && other.m_others.empty() && m_bytes.size() == other.m_bytes.size() &&
               std::memcmp(m_bytes.data(), other.m_bytes.data(), m_bytes.size()) == 0;
    }
    /// Makes the launches in their order. atMark(i): where the i-th mark is.
    void run(Stream, const std::function<void(std::size_t mark)>& atMark) const;
    void clear();

private:
    static constexpr std::size_t kAlignment = 16;
    using Run = void (*)(const LaunchTape&, const std::byte*, Stream);
    struct Header {
        Run run; ///< null: a mark
        std::size_t bytes;
    };
    static_assert(sizeof(Header) == kAlignment);

    template <class Call>
    static void runCall(const LaunchTape&, const std::byte* place, Stream stream)
    {
        (*reinterpret_cast<const Call*>(place))(stream);
    }
    std::byte* append(std::size_t bytes, Run);

    std::vector<std::byte> m_bytes; ///< headers, each with what follows it
    std::vector<std::function<void(Stream)>> m_others;
    std::vector<std::int64_t> m_marks;
    std::size_t m_launches = 0;
};

} // namespace live::cuda
