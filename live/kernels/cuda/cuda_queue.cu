#include "live/kernels/cuda/cuda_queue.h"

#include "sim/error.h"

#include <algorithm>
#include <bit>

namespace live::cuda {
namespace {

/// The largest power of two, up to 256, that divides the address and every row's.
std::uint32_t alignmentOf(const Tensor& tensor)
{
    const auto stride = static_cast<std::uintptr_t>(tensor.stride * bytesOf(tensor.type));
    const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(tensor.data) | stride | 256U;
    return static_cast<std::uint32_t>(std::uintptr_t{1} << std::countr_zero(bits));
}

/// Products in bf16 whose columns are no multiple of 8 fall back to kernels that take a seventh of the speed, however rows are
/// aligned: 13.2 ms instead of 1.9 for GPT-2's 50,257 logits on an H200 (docs/measurements.md). The whole multiples of 64 and
/// what is left over are multiplied apart where there is much of the former.
std::int64_t alignedPart(const Tensor& tensor)
{
    constexpr std::int64_t kMultiple = 64, kWorthIt = 16 * kMultiple;
    const std::int64_t columns = tensor.columns;
    return tensor.type != DType::bf16 || columns % kFullWidth == 0 || columns < kWorthIt ? columns
                                                                                         : columns / kMultiple * kMultiple;
}

struct ProductCall {
    Matmul* matmul;
    Workspace workspace;
    MatmulProblem problem;
    const void *a, *b, *bias;
    void* d;
    void operator()(Stream stream) const
    {
        if (!matmul->multiply(stream, workspace, problem, a, b, bias, d))
            throw sim::Error("a product that could be multiplied when it was put aside cannot be any more");
    }
};

} // namespace

CudaQueue::CudaQueue(int gpu, Matmul& matmul, Grouping grouping, AttentionTiles tiles, const BatchRule& batches)
    : StreamQueue(gpu, batches), m_matmul(matmul), m_grouping(grouping, gpuProperties(gpu).processors), m_attentionTiles(tiles)
{
}

CudaQueue::~CudaQueue()
{
    drain();
    for (const Workspace& block : m_scratch)
        releaseMemory(block.data);
    releaseMemory(m_matmulWorkspace.data);
}

/// Outgrown blocks are kept, for kernels that still use them: releasing one would wait for the whole GPU, and so for peers that
/// may wait for us. Sizes double, so that together they are no more than the last.
void* CudaQueue::scratch(std::size_t bytes)
{
    if (m_scratch.empty() || bytes > m_scratch.back().bytes) {
        const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, std::size_t{1} << 20));
        makeCurrent(gpu());
        void* const block = allocateMemory(size);
        if (!block)
            throw sim::Error("GPU " + std::to_string(gpu()) + " cannot give " + std::to_string(size >> 20) +
                             " MiB of scratch for a kernel: " + std::to_string(freeMemory() >> 20) +
                             " MiB are free. Use a smaller micro-batch, recomputation or more GPUs.");
        m_scratch.push_back({block, size});
    }
    return m_scratch.back().data;
}

bool CudaQueue::multiply(MatmulProblem problem, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& d)
{
    assert(a.type == b.type);
    const Launcher launcher = ready();
    if (!m_matmulWorkspace.data && m_matmul.workspaceBytes() > 0) {
        m_matmulWorkspace = {allocateMemory(m_matmul.workspaceBytes()), m_matmul.workspaceBytes()};
        if (!m_matmulWorkspace.data) {
            m_matmulWorkspace = {};
            throw sim::Error("GPU " + std::to_string(gpu()) + " has no " + std::to_string(m_matmul.workspaceBytes() >> 20) +
                             " MiB left for the workspace of matrix products. Use a smaller micro-batch or fewer ranks a GPU.");
        }
    }
    problem.input = a.type;
    problem.output = d.type;
    problem.strideA = a.stride;
    problem.strideB = b.stride;
    problem.strideD = d.stride;
    problem.alignmentA = alignmentOf(a);
    problem.alignmentB = alignmentOf(b);
    problem.alignmentD = alignmentOf(d);
    problem.bias = static_cast<bool>(bias);
    if (!launcher.tape())
        return m_matmul.multiply(launcher.stream(), m_matmulWorkspace, problem, a.data, b.data, bias.data, d.data);
    if (problem.bias && !m_matmul.canMultiply(m_matmulWorkspace, problem, bias.data))
        return false;
    launcher.put(ProductCall{&m_matmul, m_matmulWorkspace, problem, a.data, b.data, bias.data, d.data});
    return true;
}

// y^T [outputs, rows] = weight [outputs, inputs] x^T, all as the column-major matrices that their memory is.
void CudaQueue::linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y)
{
    assert(x.columns == weight.columns && y.columns == weight.rows && x.rows == y.rows);
    if (y.elements() == 0)
        return;
    if (const std::int64_t most = alignedPart(y), rest = y.columns - most; rest > 0) {
        const auto biasOf = [&](std::int64_t first, std::int64_t count) {
            return bias ? bias.columnRange(first, count) : Tensor{};
        };
        linear(x, weight.rowRange(0, most), biasOf(0, most), y.columnRange(0, most));
        linear(x, weight.rowRange(most, rest), biasOf(most, rest), y.columnRange(most, rest));
        return;
    }
    const MatmulProblem problem{.m = y.columns, .n = y.rows, .k = x.columns, .transposeA = true};
    if (bias && bias.type == y.type && multiply(problem, weight, x, bias, y))
        return;
    multiply(problem, weight, x, {}, y);
    if (bias)
        addBias(bias, y);
}

// dx^T [inputs, rows] = weight^T dy^T.
void CudaQueue::linearInputGradient(const Tensor& dy, const Tensor& weight, const Tensor& dx)
{
    assert(dy.columns == weight.rows && dx.columns == weight.columns && dy.rows == dx.rows);
    if (dx.elements() == 0)
        return;
    MatmulProblem problem{.m = dx.columns, .n = dx.rows, .k = dy.columns};
    const std::int64_t most = alignedPart(dy), rest = dy.columns - most;
    if (rest > 0) { // the small part first: what is rounded once more is small
        problem.k = rest;
        multiply(problem, weight.rowRange(most, rest), dy.columnRange(most, rest), {}, dx);
        problem.accumulate = true;
    }
    problem.k = most;
    multiply(problem, weight.rowRange(0, most), dy.columnRange(0, most), {}, dx);
}

// dWeight^T [inputs, outputs] += x^T dy.
void CudaQueue::linearWeightGradient(const Tensor& dy, const Tensor& x, const Tensor& dWeight, const Tensor& dBias)
{
    assert(dy.columns == dWeight.rows && x.columns == dWeight.columns && dy.rows == x.rows);
    if (dWeight.elements() > 0 && x.rows > 0)
        multiply({.m = x.columns, .n = dy.columns, .k = x.rows, .transposeB = true, .accumulate = true}, x, dy, {}, dWeight);
    if (dBias)
        biasGradient(dy, dBias);
}

} // namespace live::cuda
