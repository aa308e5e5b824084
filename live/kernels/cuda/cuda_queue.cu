#include "live/kernels/cuda/cuda_queue.h"

#include "sim/error.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace live::cuda {
namespace {

std::int64_t steadyNs()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The largest power of two, up to 256, that divides the address and every row's.
std::uint32_t alignmentOf(const Tensor& tensor)
{
    const auto stride = static_cast<std::uintptr_t>(tensor.stride * bytesOf(tensor.type));
    const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(tensor.data) | stride | 256U;
    return static_cast<std::uint32_t>(std::uintptr_t{1} << std::countr_zero(bits));
}

} // namespace

CudaQueue::CudaQueue(int gpu, Matmul& matmul) : m_gpu(gpu), m_matmul(matmul)
{
    makeCurrent(gpu);
    m_stream = createStream(false);
    m_clock = createEvent(true);
    setClock();
}

CudaQueue::~CudaQueue()
{
    try {
        ready();
        synchronizeStream(m_stream);
    } catch (const sim::Error&) { // the GPU is lost: there is nobody to wait for
    }
    for (Event event : m_marks)
        destroyEvent(event);
    destroyEvent(m_clock);
    destroyStream(m_stream);
    releaseMemory(m_scratch.data);
    releaseMemory(m_matmulWorkspace.data);
}

Stream CudaQueue::ready()
{
    makeCurrent(m_gpu);
    return m_stream;
}

void* CudaQueue::scratch(std::size_t bytes)
{
    if (bytes > m_scratch.bytes) {
        const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, std::size_t{1} << 20));
        synchronizeStream(ready()); // kernels may still use the old one
        releaseMemory(m_scratch.data);
        m_scratch = {};
        m_scratch = {allocateMemory(size), size};
        if (!m_scratch.data) {
            m_scratch = {};
            throw sim::Error("GPU " + std::to_string(m_gpu) + " cannot give " + std::to_string(size >> 20) +
                             " MiB of scratch for a kernel: " + std::to_string(freeMemory() >> 20) +
                             " MiB are free. Use a smaller micro-batch, recomputation or more GPUs.");
        }
    }
    return m_scratch.data;
}

void CudaQueue::fromHost(const void* host, const Tensor& to)
{
    const auto bytes = static_cast<std::size_t>(to.columns * bytesOf(to.type));
    copyRows(ready(), host, bytes, to.data, static_cast<std::size_t>(to.stride * bytesOf(to.type)), bytes,
             static_cast<std::size_t>(to.rows));
}
void CudaQueue::toHost(const Tensor& from, void* host)
{
    const auto bytes = static_cast<std::size_t>(from.columns * bytesOf(from.type));
    copyRows(ready(), from.data, static_cast<std::size_t>(from.stride * bytesOf(from.type)), host, bytes, bytes,
             static_cast<std::size_t>(from.rows));
    synchronizeStream(m_stream);
}
void CudaQueue::synchronize()
{
    synchronizeStream(ready());
}

bool CudaQueue::multiply(MatmulProblem problem, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& d)
{
    assert(a.type == b.type);
    const Stream stream = ready();
    if (!m_matmulWorkspace.data && m_matmul.workspaceBytes() > 0) {
        m_matmulWorkspace = {allocateMemory(m_matmul.workspaceBytes()), m_matmul.workspaceBytes()};
        if (!m_matmulWorkspace.data) {
            m_matmulWorkspace = {};
            throw sim::Error("GPU " + std::to_string(m_gpu) + " has no " + std::to_string(m_matmul.workspaceBytes() >> 20) +
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
    return m_matmul.multiply(stream, m_matmulWorkspace, problem, a.data, b.data, bias.data, d.data);
}

// y^T [outputs, rows] = weight [outputs, inputs] x^T, all as the column-major matrices that their memory is.
void CudaQueue::linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y)
{
    assert(x.columns == weight.columns && y.columns == weight.rows && x.rows == y.rows);
    if (y.elements() == 0)
        return;
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
    if (dx.elements() > 0)
        multiply({.m = dx.columns, .n = dx.rows, .k = dy.columns}, weight, dy, {}, dx);
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

std::int64_t CudaQueue::markOn(Stream stream)
{
    makeCurrent(m_gpu);
    const std::lock_guard lock(m_marksMutex);
    if (m_marksUsed == m_marks.size())
        m_marks.push_back(createEvent(true));
    recordEvent(m_marks[m_marksUsed], stream);
    return -1 - static_cast<std::int64_t>(m_marksUsed++);
}

void CudaQueue::resolveMarks(std::span<std::int64_t> marks)
{
    ready();
    const std::lock_guard lock(m_marksMutex);
    for (std::int64_t& mark : marks) {
        if (mark >= 0)
            continue; // a time already
        const auto index = static_cast<std::size_t>(-1 - mark);
        assert(index < m_marksUsed);
        synchronizeEvent(m_marks[index]);
        constexpr double kNsPerMs = 1e6;
        mark =
            m_clockNs + static_cast<std::int64_t>(static_cast<double>(millisecondsBetween(m_clock, m_marks[index])) * kNsPerMs);
    }
    m_passed += m_marksUsed - m_marksSeen;
    m_marksUsed = m_marksSeen = 0;
    setClock(); // spans are floats of milliseconds: exact to 60 ns within a second
}

std::uint64_t CudaQueue::marksPassed()
{
    const std::unique_lock lock(m_marksMutex, std::try_to_lock); // whoever holds it may be waiting for them
    while (lock && m_marksSeen < m_marksUsed && hasPassed(m_marks[m_marksSeen])) {
        ++m_marksSeen;
        ++m_passed;
    }
    return m_passed;
}

void CudaQueue::setClock()
{
    recordEvent(m_clock, m_stream);
    synchronizeEvent(m_clock);
    m_clockNs = steadyNs();
}

} // namespace live::cuda
