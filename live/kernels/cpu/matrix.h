// A tensor whose element type is known, and the way CPU kernels spread over workers.
#pragma once

#include "live/tasks/worker_pool.h"
#include "live/tensor/tensor.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <type_traits>

namespace live::cpu {

template <class T>
constexpr DType dtypeOf()
{
    if constexpr (std::is_same_v<T, float>)
        return DType::f32;
    else if constexpr (std::is_same_v<T, double>)
        return DType::f64;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return DType::i32;
    else
        return DType::i64;
}

template <class T>
struct Matrix {
    T* data = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;

    explicit Matrix(const Tensor& tensor)
        : data(tensor.as<T>()), rows(tensor.rows), columns(tensor.columns), stride(tensor.stride)
    {
        assert(!tensor.data || tensor.type == dtypeOf<std::remove_const_t<T>>());
    }
    T* row(std::int64_t index) const { return data + index * stride; }
    bool contiguous() const { return stride == columns || rows <= 1; }
    /// Of a single row or column.
    T& at(std::int64_t index) const { return rows == 1 ? data[index] : data[index * stride]; }
    explicit operator bool() const { return data != nullptr; }
};

/// Splits work over the pool's idle workers. Pieces depend on the sizes alone, so that results do not depend on the workers.
class Parallel {
public:
    explicit Parallel(WorkerPool* pool) : m_pool(pool) {}
    std::int64_t workers() const { return m_pool ? m_pool->workers() : 1; }

    /// body(first, last) on pieces of `grain`.
    template <class Body>
    void over(std::int64_t count, std::int64_t grain, const Body& body) const
    {
        if (count <= 0)
            return;
        grain = std::max<std::int64_t>(grain, 1);
        if (m_pool && count > grain) {
            m_pool->parallelFor(count, grain, body);
            return;
        }
        for (std::int64_t first = 0; first < count; first += grain)
            body(first, std::min(first + grain, count));
    }
    /// Pieces of rows of about kElements elements.
    template <class Body>
    void overRows(std::int64_t rows, std::int64_t columns, const Body& body) const
    {
        constexpr std::int64_t kElements = 16384; // some microseconds of work
        over(rows, std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(columns, 1)), body);
    }

private:
    WorkerPool* m_pool;
};

} // namespace live::cpu
