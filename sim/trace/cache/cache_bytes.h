// What a cache file is made of: numbers little-endian, texts and lists with their length before them. One description of a record
// serves writing and reading.
#pragma once

#include "sim/error.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sim {

/// 64 bits over bytes, by which damage shows. Not against who forges it: what was read is checked all the same.
inline std::uint64_t hashOfBytes(std::span<const std::byte> bytes)
{
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    std::array<std::uint64_t, 4> lanes = {1, 2, 3, bytes.size()};
    const auto mix = [&](std::uint64_t& lane, std::uint64_t word) { lane = std::rotl((lane ^ word) * kOdd, 29); };
    std::size_t at = 0;
    for (; at + 32 <= bytes.size(); at += 32) {
        std::array<std::uint64_t, 4> words;
        std::memcpy(words.data(), bytes.data() + at, sizeof words);
        for (std::size_t i = 0; i < words.size(); ++i)
            mix(lanes[i], words[i]);
    }
    for (; at < bytes.size(); ++at)
        mix(lanes[at % 4], static_cast<std::uint64_t>(bytes[at]));
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes) {
        mix(sum, lane);
        sum ^= sum >> 31;
    }
    return sum;
}

template <typename T>
concept CacheNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Texts may name the folder or files that were opened, which another time are written otherwise.
class CacheWriter {
public:
    static constexpr bool kReads = false;
    template <CacheNumber T>
    void operator()(const T& value)
    {
        const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
        m_bytes.append(bytes.data(), bytes.size());
    }
    void operator()(const std::string& text)
    {
        (*this)(static_cast<std::uint64_t>(text.size()));
        m_bytes += text;
    }
    template <typename T, typename Each>
    void list(const std::vector<T>& values, Each each)
    {
        (*this)(static_cast<std::uint64_t>(values.size()));
        for (const T& value : values)
            each(value);
    }
    std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

/// Throws Error where the bytes end too early.
class CacheReader {
public:
    static constexpr bool kReads = true;
    explicit CacheReader(std::span<const std::byte> bytes) : m_bytes(bytes) {}
    template <CacheNumber T>
    void operator()(T& value)
    {
        need(sizeof(T));
        if constexpr (std::is_same_v<T, bool>)
            value = static_cast<unsigned char>(m_bytes[m_at]) != 0;
        else
            std::memcpy(&value, m_bytes.data() + m_at, sizeof(T));
        m_at += sizeof(T);
    }
    void operator()(std::string& text)
    {
        const std::size_t size = count(1);
        text.assign(reinterpret_cast<const char*>(m_bytes.data() + m_at), size);
        m_at += size;
    }
    template <typename T, typename Each>
    void list(std::vector<T>& values, Each each)
    {
        const std::size_t size = count(1);
        values.clear();
        for (std::size_t i = 0; i < size; ++i)
            each(values.emplace_back());
    }
    bool isAtEnd() const { return m_at == m_bytes.size(); }

private:
    void need(std::size_t bytes) const
    {
        if (m_bytes.size() - m_at < bytes)
            throw Error("it ends in the middle of a record");
    }
    /// Of things that take a byte each at the least.
    std::size_t count(std::size_t each)
    {
        std::uint64_t size = 0;
        (*this)(size);
        if (size > (m_bytes.size() - m_at) / each)
            throw Error("it ends in the middle of a list");
        return static_cast<std::size_t>(size);
    }
    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0;
};

} // namespace sim
