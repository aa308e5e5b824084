// What kernels work on: a row-major matrix in a device's memory. A view; who allocated it owns it (memory.h).
// Activations have one row a token. Row of (position, sequence) in a micro-batch = position * sequences + sequence, as in
// Megatron Core's [s, b, h]: a part of the sequence is a range of rows, so sequence and context shards need no copy.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace live {

enum class DType : std::uint8_t { f32, f64, bf16, i32, i64 };
constexpr std::int64_t bytesOf(DType type)
{
    switch (type) {
    case DType::bf16:
        return 2;
    case DType::f32:
    case DType::i32:
        return 4;
    case DType::f64:
    case DType::i64:
        return 8;
    }
    return 0;
}
const char* dtypeName(DType);

struct Tensor {
    void* data = nullptr;
    DType type = DType::f32;
    std::int64_t rows = 0, columns = 0;
    std::int64_t stride = 0; ///< elements from one row to the next; = columns where rows lie side by side

    std::int64_t elements() const { return rows * columns; }
    std::int64_t bytes() const { return elements() * bytesOf(type); }
    bool contiguous() const { return stride == columns || rows <= 1; }
    explicit operator bool() const { return data != nullptr; }

    Tensor rowRange(std::int64_t first, std::int64_t count) const
    {
        assert(first >= 0 && first + count <= rows);
        return {static_cast<std::byte*>(data) + first * stride * bytesOf(type), type, count, columns, stride};
    }
    Tensor columnRange(std::int64_t first, std::int64_t count) const
    {
        assert(first >= 0 && first + count <= columns);
        return {static_cast<std::byte*>(data) + first * bytesOf(type), type, rows, count, stride};
    }
    /// The same elements as one row. Contiguous tensors only.
    Tensor flat() const
    {
        assert(contiguous());
        return {data, type, 1, elements(), elements()};
    }
    /// The same elements in other rows. Contiguous tensors only.
    Tensor reshaped(std::int64_t newRows, std::int64_t newColumns) const
    {
        assert(contiguous() && newRows * newColumns == elements());
        return {data, type, newRows, newColumns, newColumns};
    }
    template <class T>
    T* as() const
    {
        return static_cast<T*>(data);
    }
};

} // namespace live
