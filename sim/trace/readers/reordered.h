// Columns in a new order, or a part of them. Private to sim/trace/readers.
#pragma once

#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

/// The column in a new order, held once more for a moment.
template <typename T>
void reorder(std::vector<T>& column, const std::vector<std::uint32_t>& order)
{
    if (column.empty())
        return;
    std::vector<T> sorted(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        sorted[i] = column[order[i]];
    column = std::move(sorted);
}
template <typename T>
void reorder(RecordedColumn<T>& column, const std::vector<std::uint32_t>& order)
{
    reorder(column.own(), order);
}

template <typename T>
std::vector<T> partOfColumn(const RecordedColumn<T>& column, std::size_t first, std::size_t last)
{
    if (column.empty())
        return {};
    return {column.begin() + first, column.begin() + last};
}

} // namespace sim
