// Ranks, stages and micro-batches are int, since -1 says "none" in files and in columns; containers count with std::size_t.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace sim {

/// A number or an enumerator as an index or a size of a container; a negative one becomes larger than any.
template <typename Number>
requires(std::integral<Number> || std::is_enum_v<Number>) constexpr std::size_t asIndex(Number number)
{
    return static_cast<std::size_t>(number);
}

/// A vector that takes such indices as they are: for code that follows them from column to column.
template <typename Value>
class Column : public std::vector<Value> {
public:
    using std::vector<Value>::vector;
    decltype(auto) operator[](auto number) { return std::vector<Value>::operator[](asIndex(number)); }
    decltype(auto) operator[](auto number) const { return std::vector<Value>::operator[](asIndex(number)); }
};

} // namespace sim
