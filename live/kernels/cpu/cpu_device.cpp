#include "live/kernels/cpu/attention.h"
#include "live/kernels/cpu/cross_entropy.h"
#include "live/kernels/cpu/elementwise.h"
#include "live/kernels/cpu/experts.h"
#include "live/kernels/cpu/norm.h"
#include "live/kernels/cpu/optimizer.h"
#include "live/kernels/device.h"
#include "live/tensor/memory.h"
#include "sim/error.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

namespace live {
namespace {

using cpu::Matrix, cpu::Parallel, cpu::Transposed;
using I32 = Matrix<const std::int32_t>;

/// Kernels have run when their call returns. T is the type of activations and of sums.
template <class T>
class CpuQueue final : public Queue {
public:
    explicit CpuQueue(WorkerPool* pool) : m_parallel(pool) {}

    void fill(const Tensor& tensor, double value) override { cpu::fill(m_parallel, tensor, value); }
    void copy(const Tensor& from, const Tensor& to) override { cpu::copy(m_parallel, from, to); }
    void add(const Tensor& x, const Tensor& y) override { cpu::add(m_parallel, x, y); }
    void fromHost(const void* host, const Tensor& to) override
    {
        eachRun(to, [host](std::byte* ours, std::int64_t offset, std::int64_t bytes) {
            std::memcpy(ours, static_cast<const std::byte*>(host) + offset, static_cast<std::size_t>(bytes));
        });
    }
    void toHost(const Tensor& from, void* host) override
    {
        eachRun(from, [host](const std::byte* ours, std::int64_t offset, std::int64_t bytes) {
            std::memcpy(static_cast<std::byte*>(host) + offset, ours, static_cast<std::size_t>(bytes));
        });
    }
    void synchronize() override {}

    void linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) override
    {
        const Matrix<const T> in(x), w(weight);
        const Matrix<T> out(y);
        assert(in.columns == w.columns && out.columns == w.rows && in.rows == out.rows);
        cpu::multiply<T>(m_parallel, Transposed::no, Transposed::yes, in.rows, w.rows, in.columns, in.data, in.stride, w.data,
                         w.stride, false, out.data, out.stride);
        if (bias)
            addBias(bias, y);
    }
    void linearInputGradient(const Tensor& dy, const Tensor& weight, const Tensor& dx) override
    {
        const Matrix<const T> slope(dy), w(weight);
        const Matrix<T> out(dx);
        assert(slope.columns == w.rows && out.columns == w.columns && slope.rows == out.rows);
        cpu::multiply<T>(m_parallel, Transposed::no, Transposed::no, slope.rows, w.columns, w.rows, slope.data, slope.stride,
                         w.data, w.stride, false, out.data, out.stride);
    }
    void linearWeightGradient(const Tensor& dy, const Tensor& x, const Tensor& dWeight, const Tensor& dBias) override
    {
        const Matrix<const T> slope(dy), in(x);
        const Matrix<T> out(dWeight);
        assert(slope.columns == out.rows && in.columns == out.columns && slope.rows == in.rows);
        cpu::multiply<T>(m_parallel, Transposed::yes, Transposed::no, out.rows, out.columns, in.rows, slope.data, slope.stride,
                         in.data, in.stride, true, out.data, out.stride);
        if (dBias)
            biasGradient(dy, dBias);
    }
    void addBias(const Tensor& bias, const Tensor& y) override { cpu::addBias<T>(m_parallel, M(bias), W(y)); }
    void biasGradient(const Tensor& dy, const Tensor& dBias) override { sums(dy, dBias, true); }
    void sumRows(const Tensor& x, const Tensor& y) override { sums(x, y, false); }

    void norm(const NormRule& rule, const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& y,
              const Tensor& statistics) override
    {
        cpu::norm<T>(m_parallel, rule, M(x), M(gain), M(bias), W(y), W(statistics));
    }
    void normGradient(NormKind kind, const Tensor& dy, const Tensor& x, const Tensor& gain, const Tensor& statistics,
                      const Tensor& dx, const Tensor& dGain, const Tensor& dBias) override
    {
        cpu::normGradient<T>(m_parallel, kind, M(dy), M(x), M(gain), M(statistics), W(dx), W(dGain), W(dBias));
    }

    void activation(ActivationFunction function, const Tensor& x, const Tensor& y) override
    {
        cpu::activation<T>(m_parallel, function, M(x), W(y));
    }
    void activationGradient(ActivationFunction function, const Tensor& x, const Tensor& dy, const Tensor& dx) override
    {
        cpu::activationGradient<T>(m_parallel, function, M(x), M(dy), W(dx));
    }
    void gatedActivation(ActivationFunction function, const Tensor& x, const Tensor& y) override
    {
        cpu::gatedActivation<T>(m_parallel, function, M(x), W(y));
    }
    void gatedActivationGradient(ActivationFunction function, const Tensor& x, const Tensor& dy, const Tensor& dx) override
    {
        cpu::gatedActivationGradient<T>(m_parallel, function, M(x), M(dy), W(dx));
    }

    void rotate(const Tensor& x, int headDim, const Tensor& positions, const Rotation& rotation, bool inverse) override
    {
        cpu::rotate<T>(m_parallel, W(x), headDim, I32(positions), rotation, inverse);
    }
    void attention(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                   const Tensor& logSumExp) override
    {
        cpu::attention<T>(m_parallel, shape, M(q), M(k), M(v), W(o), W(logSumExp));
    }
    void attentionGradient(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                           const Tensor& logSumExp, const Tensor& dOutput, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                           bool accumulate) override
    {
        cpu::attentionGradient<T>(m_parallel, shape, M(q), M(k), M(v), M(o), M(logSumExp), M(dOutput), W(dq), W(dk), W(dv),
                                  accumulate);
    }
    void mergeAttention(int valueDim, const Tensor& oBlock, const Tensor& logSumExpBlock, const Tensor& o,
                        const Tensor& logSumExp) override
    {
        cpu::mergeAttention<T>(m_parallel, valueDim, M(oBlock), M(logSumExpBlock), W(o), W(logSumExp));
    }
    void attentionSinks(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp) override
    {
        cpu::attentionSinks<T>(m_parallel, valueDim, M(sinks), W(o), W(logSumExp));
    }
    void attentionSinksGradient(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp,
                                const Tensor& dOutput, const Tensor& dSinks) override
    {
        cpu::attentionSinksGradient<T>(m_parallel, valueDim, M(sinks), M(o), M(logSumExp), M(dOutput), W(dSinks));
    }

    void embed(const Tensor& ids, const Tensor& table, std::int64_t firstId, const Tensor& y) override
    {
        cpu::embed<T>(m_parallel, I32(ids), M(table), firstId, W(y));
    }
    void embedGradient(const Tensor& ids, const Tensor& dy, std::int64_t firstId, const Tensor& dTable) override
    {
        cpu::embedGradient<T>(m_parallel, I32(ids), M(dy), firstId, W(dTable));
    }

    void rowMaximum(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum) override
    {
        cpu::rowMaximum<T>(m_parallel, M(logits), validColumns, W(maximum));
    }
    void exponentials(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum, const Tensor& targets,
                      std::int64_t firstId, const Tensor& partial) override
    {
        cpu::exponentials<T>(m_parallel, W(logits), validColumns, M(maximum), I32(targets), firstId, W(partial));
    }
    void crossEntropy(const Tensor& partial, const Tensor& targets, const Tensor& loss) override
    {
        cpu::crossEntropy<T>(M(partial), I32(targets), W(loss));
    }
    void crossEntropyGradient(const Tensor& exponentials, const Tensor& partial, const Tensor& targets, std::int64_t firstId,
                              double lossScale) override
    {
        cpu::crossEntropyGradient<T>(m_parallel, W(exponentials), M(partial), I32(targets), firstId, lossScale);
    }

    void dropout(const DropoutKey& key, const Tensor& tokens, std::int64_t firstFeature, const Tensor& x,
                 const Tensor& y) override
    {
        cpu::dropout<T>(m_parallel, key, Matrix<const std::int64_t>(tokens), firstFeature, M(x), W(y));
    }

    void routeTopK(const RouterRule& rule, const Tensor& logits, const Tensor& bias, const Tensor& probabilities,
                   const Tensor& experts, const Tensor& weights) override
    {
        cpu::routeTopK<T>(m_parallel, rule, M(logits), M(bias), W(probabilities), Matrix<std::int32_t>(experts), W(weights));
    }
    void routeGradient(const RouterRule& rule, const Tensor& logits, const Tensor& probabilities, const Tensor& experts,
                       const Tensor& weights, const Tensor& dWeights, const Tensor& auxGradient, const Tensor& dLogits) override
    {
        cpu::routeGradient<T>(m_parallel, rule, M(logits), M(probabilities), I32(experts), M(weights), M(dWeights),
                              M(auxGradient), W(dLogits));
    }
    void countExperts(const Tensor& experts, const Tensor& counts) override
    {
        cpu::countExperts(I32(experts), Matrix<std::int64_t>(counts));
    }
    void sortByExpert(const Tensor& experts, std::int64_t expertCount, const Tensor& order, const Tensor& place) override
    {
        cpu::sortByExpert(I32(experts), expertCount, Matrix<std::int32_t>(order), Matrix<std::int32_t>(place));
    }
    void gatherRows(const Tensor& x, const Tensor& index, std::int64_t divisor, const Tensor& y) override
    {
        cpu::gatherRows<T>(m_parallel, M(x), I32(index), divisor, W(y));
    }
    void combineRows(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& y) override
    {
        cpu::combineRows<T>(m_parallel, M(x), I32(place), M(weights), W(y));
    }
    void combineGradient(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& dy, const Tensor& dx,
                         const Tensor& dWeights) override
    {
        cpu::combineGradient<T>(m_parallel, M(x), I32(place), M(weights), M(dy), W(dx), W(dWeights));
    }

    void exactSum(const Tensor& values, const Tensor& words) override
    {
        if (values.type == DType::f64)
            cpu::exactSum(m_parallel, Matrix<const double>(values), Matrix<std::int64_t>(words));
        else
            cpu::exactSum(m_parallel, Matrix<const float>(values), Matrix<std::int64_t>(words));
    }
    void exactSumOfSquares(const Tensor& values, const Tensor& words) override
    {
        assert(values.rows <= 1);
        cpu::exactSumOfSquares(m_parallel, M(values), Matrix<std::int64_t>(words));
    }
    void carryExactSums(const Tensor& words) override
    {
        for (std::int64_t row = 0; row < words.rows; ++row)
            carryExactSum(std::span<std::int64_t, kExactSumWords>(words.rowRange(row, 1).as<std::int64_t>(), kExactSumWords));
    }
    void clipFactor(const Tensor& words, double maxNorm, const Tensor& factor) override
    {
        double sum = 0;
        bool finite = true;
        for (std::int64_t row = 0; row < words.rows; ++row) {
            sum = exactSumValue(
                std::span<const std::int64_t, kExactSumWords>(words.rowRange(row, 1).as<std::int64_t>(), kExactSumWords));
            finite = finite && std::isfinite(sum);
        }
        const double norm = std::sqrt(sum);
        *factor.as<double>() = !finite ? std::nan("") : maxNorm == 0 ? 1 : std::min(1.0, maxNorm / (norm + 1e-6));
    }

    void adamw(const AdamwStep& step, const Tensor& clipFactor, const Tensor& gradient, const Tensor& firstMoment,
               const Tensor& secondMoment, const Tensor& master, const Tensor& parameter) override
    {
        assert(gradient.columns == master.columns && firstMoment.columns == master.columns && master.rows <= 1);
        if (std::isnan(*clipFactor.as<double>()))
            return;
        cpu::adamw<T>(m_parallel, step, *clipFactor.as<double>(), M(gradient), W(firstMoment), W(secondMoment), W(master));
        publish(master, parameter);
    }
    void sgd(double learningRate, const Tensor& clipFactor, const Tensor& gradient, const Tensor& master,
             const Tensor& parameter) override
    {
        if (std::isnan(*clipFactor.as<double>()))
            return;
        cpu::sgd<T>(m_parallel, learningRate, *clipFactor.as<double>(), M(gradient), W(master));
        publish(master, parameter);
    }

    std::int64_t mark() override
    {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

private:
    using M = Matrix<const T>;
    using W = Matrix<T>;

    /// visit(address, bytes from the start of the whole, bytes) of pieces whose bytes lie side by side, spread over workers: what
    /// a host gives is long when weights are made or read.
    template <class Visit>
    void eachRun(const Tensor& tensor, const Visit& visit)
    {
        constexpr std::int64_t kPiece = 256 << 10;
        const bool whole = tensor.contiguous();
        const std::int64_t row = tensor.columns * bytesOf(tensor.type), run = whole ? tensor.rows * row : row;
        for (std::int64_t index = 0; run > 0 && index < (whole ? 1 : tensor.rows); ++index) {
            auto* const ours = tensor.rowRange(index, 1).template as<std::byte>();
            m_parallel.over(run, kPiece, [&](std::int64_t first, std::int64_t last) {
                visit(ours + first, index * row + first, last - first);
            });
        }
    }
    void publish(const Tensor& master, const Tensor& parameter)
    {
        if (parameter.data != master.data)
            copy(master, parameter);
    }
    void sums(const Tensor& x, const Tensor& y, bool accumulate)
    {
        const M in(x);
        assert(x.columns == y.columns);
        cpu::columnSums(m_parallel, x.rows, x.columns, accumulate, W(y).data,
                        [&](std::int64_t row, std::int64_t first, T* block, std::int64_t count) {
                            cpu::vectorKernels<T>().addTo(in.row(row) + first, block, count);
                        });
    }

    Parallel m_parallel;
};

std::string processorName()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            return line.substr(std::min(line.find(": ") + 2, line.size()));
    return "processor";
}

/// What may have been used up, little as the last piece was.
std::string boundsText(std::int64_t memoryBytes)
{
    std::string text = "the machine has " + pieceText(static_cast<std::size_t>(memoryBytes));
    for (const auto& [resource, name] : {std::pair(RLIMIT_AS, "ulimit -v"), {RLIMIT_DATA, "ulimit -d"}})
        if (rlimit limit{}; ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            text += std::string(", ") + name + " allows this process " + pieceText(limit.rlim_cur);
    return text;
}

class CpuDevice final : public Device {
public:
    CpuDevice(DType precision, WorkerPool* pool) : m_pool(pool)
    {
        m_info.kind = "cpu";
        m_info.name = processorName() + ", " + std::to_string(std::max(1U, std::thread::hardware_concurrency())) + " cores, " +
                      cpu::vectorKernels<float>().name;
        m_info.activation = m_info.accumulation = precision;
        m_info.memoryBytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    }
    const DeviceInfo& info() const override { return m_info; }
    std::unique_ptr<Queue> makeQueue() override
    {
        if (m_info.activation == DType::f64)
            return std::make_unique<CpuQueue<double>>(m_pool);
        return std::make_unique<CpuQueue<float>>(m_pool);
    }
    void* allocate(std::size_t bytes) override
    {
        // Large blocks on large pages: rows of a weight matrix lie further apart than the TLB reaches with small ones.
        constexpr std::size_t kLine = 64, kLargePage = std::size_t{2} << 20;
        const std::size_t alignment = bytes < 2 * kLargePage ? kLine : kLargePage;
        const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
        void* block = size > static_cast<std::size_t>(m_info.memoryBytes) ? nullptr : std::aligned_alloc(alignment, size);
#ifdef __linux__
        if (block && alignment == kLargePage)
            madvise(block, size, MADV_HUGEPAGE); // a wish
#endif
        if (!block)
            throw sim::Error("The CPU cannot give " + pieceText(bytes) + " more: " + boundsText(m_info.memoryBytes) +
                             ". Use a smaller model, a smaller micro-batch, recomputation or fewer ranks.");
        return block;
    }
    void release(void* block, std::size_t) noexcept override
    {
        std::free(block);
    }

private:
    DeviceInfo m_info;
    WorkerPool* m_pool;
};

} // namespace

std::unique_ptr<Device> makeCpuDevice(DType precision, WorkerPool* pool)
{
    if (precision != DType::f32 && precision != DType::f64)
        throw sim::Error(std::string("The CPU computes in fp32 or fp64, not in ") + dtypeName(precision) + ".");
    return std::make_unique<CpuDevice>(precision, pool);
}

} // namespace live
