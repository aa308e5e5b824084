// Each kernel is one operation on the machine's stream: what it reads and writes, and the CPU's kernel for when its turn has
// come.
#include "live/emulated/emulated_device.h"

#include "live/emulated/handles.h"
#include "live/kernels/cuda/gpu_device.h"
#include "live/kernels/cuda/stream_queue.h"
#include "sim/error.h"

#include <utility>

namespace live::emulated {
namespace {

class EmulatedQueue final : public cuda::StreamQueue {
public:
    using T = const Tensor&;
    EmulatedQueue(int gpu, std::unique_ptr<Queue> kernels) : StreamQueue(gpu, batches()), m_kernels(std::move(kernels)) {}
    ~EmulatedQueue() override { drain(); }
    EmulatedQueue(const EmulatedQueue&) = delete;
    EmulatedQueue& operator=(const EmulatedQueue&) = delete;

    void fill(T x, double value) override
    {
        put("fill", {writes(x)}, [=, this] { m_kernels->fill(x, value); });
    }
    void copy(T from, T to) override
    {
        put("copy", {reads(from), writes(to)}, [=, this] { m_kernels->copy(from, to); });
    }
    void add(T x, T y) override
    {
        put("add", {reads(x), writes(y)}, [=, this] { m_kernels->add(x, y); });
    }
    void linear(T x, T weight, T bias, T y) override
    {
        put("linear", {reads(x), reads(weight), reads(bias), writes(y)}, [=, this] { m_kernels->linear(x, weight, bias, y); });
    }
    void linearInputGradient(T dy, T weight, T dx) override
    {
        put("linearInputGradient", {reads(dy), reads(weight), writes(dx)},
            [=, this] { m_kernels->linearInputGradient(dy, weight, dx); });
    }
    void linearWeightGradient(T dy, T x, T dWeight, T dBias) override
    {
        put("linearWeightGradient", {reads(dy), reads(x), writes(dWeight), writes(dBias)},
            [=, this] { m_kernels->linearWeightGradient(dy, x, dWeight, dBias); });
    }
    void linearParts(std::span<const LinearPart> parts, T x, T y) override
    {
        put("linearParts", ofParts(parts, {reads(x), writes(y)}, reads),
            [=, this, own = std::vector(parts.begin(), parts.end())] { m_kernels->linearParts(own, x, y); });
    }
    void linearPartsInputGradient(std::span<const LinearPart> parts, T dy, T dx) override
    {
        put("linearPartsInputGradient", ofParts(parts, {reads(dy), writes(dx)}, reads),
            [=, this, own = std::vector(parts.begin(), parts.end())] { m_kernels->linearPartsInputGradient(own, dy, dx); });
    }
    void linearPartsWeightGradient(std::span<const LinearPart> parts, T dy, T x) override
    {
        put("linearPartsWeightGradient", ofParts(parts, {reads(dy), reads(x)}, writes),
            [=, this, own = std::vector(parts.begin(), parts.end())] { m_kernels->linearPartsWeightGradient(own, dy, x); });
    }
    void addBias(T bias, T y) override
    {
        put("addBias", {reads(bias), writes(y)}, [=, this] { m_kernels->addBias(bias, y); });
    }
    void biasGradient(T dy, T dBias) override
    {
        put("biasGradient", {reads(dy), writes(dBias)}, [=, this] { m_kernels->biasGradient(dy, dBias); });
    }
    void norm(const NormRule& rule, T x, T gain, T bias, T y, T statistics) override
    {
        put("norm", {reads(x), reads(gain), reads(bias), writes(y), writes(statistics)},
            [=, this] { m_kernels->norm(rule, x, gain, bias, y, statistics); });
    }
    void normGradient(NormKind kind, T dy, T x, T gain, T statistics, T dx, T dGain, T dBias) override
    {
        put("normGradient", {reads(dy), reads(x), reads(gain), reads(statistics), writes(dx), writes(dGain), writes(dBias)},
            [=, this] { m_kernels->normGradient(kind, dy, x, gain, statistics, dx, dGain, dBias); });
    }
    void activation(ActivationFunction function, T x, T y) override
    {
        put("activation", {reads(x), writes(y)}, [=, this] { m_kernels->activation(function, x, y); });
    }
    void activationGradient(ActivationFunction function, T x, T dy, T dx) override
    {
        put("activationGradient", {reads(x), reads(dy), writes(dx)},
            [=, this] { m_kernels->activationGradient(function, x, dy, dx); });
    }
    void gatedActivation(ActivationFunction function, T x, T y) override
    {
        put("gatedActivation", {reads(x), writes(y)}, [=, this] { m_kernels->gatedActivation(function, x, y); });
    }
    void gatedActivationGradient(ActivationFunction function, T x, T dy, T dx) override
    {
        put("gatedActivationGradient", {reads(x), reads(dy), writes(dx)},
            [=, this] { m_kernels->gatedActivationGradient(function, x, dy, dx); });
    }
    void rotate(T x, int headDim, T positions, const Rotation& rotation, bool inverse) override
    {
        put("rotate", {reads(positions), reads(rotation.frequencies), writes(x)},
            [=, this] { m_kernels->rotate(x, headDim, positions, rotation, inverse); });
    }
    void attention(const AttentionShape& shape, T q, T k, T v, T o, T logSumExp) override
    {
        put("attention", {reads(q), reads(k), reads(v), writes(o), writes(logSumExp)},
            [=, this] { m_kernels->attention(shape, q, k, v, o, logSumExp); });
    }
    void attentionGradient(const AttentionShape& shape, T q, T k, T v, T o, T logSumExp, T dOutput, T dq, T dk, T dv,
                           bool accumulate) override
    {
        put("attentionGradient",
            {reads(q), reads(k), reads(v), reads(o), reads(logSumExp), reads(dOutput), writes(dq), writes(dk), writes(dv)},
            [=, this] { m_kernels->attentionGradient(shape, q, k, v, o, logSumExp, dOutput, dq, dk, dv, accumulate); });
    }
    void attentionSinks(int valueDim, T sinks, T o, T logSumExp) override
    {
        put("attentionSinks", {reads(sinks), writes(o), writes(logSumExp)},
            [=, this] { m_kernels->attentionSinks(valueDim, sinks, o, logSumExp); });
    }
    void attentionSinksGradient(int valueDim, T sinks, T o, T logSumExp, T dOutput, T dSinks) override
    {
        put("attentionSinksGradient", {reads(sinks), reads(o), reads(logSumExp), reads(dOutput), writes(dSinks)},
            [=, this] { m_kernels->attentionSinksGradient(valueDim, sinks, o, logSumExp, dOutput, dSinks); });
    }
    void mergeAttention(int headDim, T oBlock, T logSumExpBlock, T o, T logSumExp) override
    {
        put("mergeAttention", {reads(oBlock), reads(logSumExpBlock), writes(o), writes(logSumExp)},
            [=, this] { m_kernels->mergeAttention(headDim, oBlock, logSumExpBlock, o, logSumExp); });
    }
    void embed(T ids, T table, std::int64_t firstId, T y) override
    {
        put("embed", {reads(ids), reads(table), writes(y)}, [=, this] { m_kernels->embed(ids, table, firstId, y); });
    }
    void embedGradient(T ids, T dy, std::int64_t firstId, T dTable) override
    {
        put("embedGradient", {reads(ids), reads(dy), writes(dTable)},
            [=, this] { m_kernels->embedGradient(ids, dy, firstId, dTable); });
    }
    void rowMaximum(T logits, std::int64_t validColumns, T maximum) override
    {
        put("rowMaximum", {reads(logits), writes(maximum)}, [=, this] { m_kernels->rowMaximum(logits, validColumns, maximum); });
    }
    void exponentials(T logits, std::int64_t validColumns, T maximum, T targets, std::int64_t firstId, T partial) override
    {
        put("exponentials", {reads(maximum), reads(targets), writes(logits), writes(partial)},
            [=, this] { m_kernels->exponentials(logits, validColumns, maximum, targets, firstId, partial); });
    }
    void crossEntropy(T partial, T targets, T loss) override
    {
        put("crossEntropy", {reads(partial), reads(targets), writes(loss)},
            [=, this] { m_kernels->crossEntropy(partial, targets, loss); });
    }
    void crossEntropyGradient(T exponentials, T partial, T targets, std::int64_t firstId, double lossScale) override
    {
        put("crossEntropyGradient", {reads(partial), reads(targets), writes(exponentials)},
            [=, this] { m_kernels->crossEntropyGradient(exponentials, partial, targets, firstId, lossScale); });
    }
    void dropout(const DropoutKey& key, T tokens, std::int64_t firstFeature, T x, T y) override
    {
        putOn(readyApart(), "dropout", {reads(tokens), reads(x), writes(y)},
              [=, this] { m_kernels->dropout(key, tokens, firstFeature, x, y); });
    }
    void routeTopK(const RouterRule& rule, T logits, T bias, T probabilities, T experts, T weights) override
    {
        put("routeTopK", {reads(logits), reads(bias), writes(probabilities), writes(experts), writes(weights)},
            [=, this] { m_kernels->routeTopK(rule, logits, bias, probabilities, experts, weights); });
    }
    void routeGradient(const RouterRule& rule, T logits, T probabilities, T experts, T weights, T dWeights, T auxGradient,
                       T dLogits) override
    {
        put("routeGradient",
            {reads(logits), reads(probabilities), reads(experts), reads(weights), reads(dWeights), reads(auxGradient),
             writes(dLogits)},
            [=, this] {
                m_kernels->routeGradient(rule, logits, probabilities, experts, weights, dWeights, auxGradient, dLogits);
            });
    }
    void countExperts(T experts, T counts) override
    {
        put("countExperts", {reads(experts), writes(counts)}, [=, this] { m_kernels->countExperts(experts, counts); });
    }
    void sortByExpert(T experts, std::int64_t expertCount, T order, T place) override
    {
        put("sortByExpert", {reads(experts), writes(order), writes(place)},
            [=, this] { m_kernels->sortByExpert(experts, expertCount, order, place); });
    }
    void gatherRows(T x, T index, std::int64_t divisor, T y) override
    {
        put("gatherRows", {reads(x), reads(index), writes(y)}, [=, this] { m_kernels->gatherRows(x, index, divisor, y); });
    }
    void combineRows(T x, T place, T weights, T y) override
    {
        put("combineRows", {reads(x), reads(place), reads(weights), writes(y)},
            [=, this] { m_kernels->combineRows(x, place, weights, y); });
    }
    void combineGradient(T x, T place, T weights, T dy, T dx, T dWeights) override
    {
        put("combineGradient", {reads(x), reads(place), reads(weights), reads(dy), writes(dx), writes(dWeights)},
            [=, this] { m_kernels->combineGradient(x, place, weights, dy, dx, dWeights); });
    }
    void sumRows(T x, T y) override
    {
        put("sumRows", {reads(x), writes(y)}, [=, this] { m_kernels->sumRows(x, y); });
    }
    void exactSum(T values, T words) override
    {
        put("exactSum", {reads(values), writes(words)}, [=, this] { m_kernels->exactSum(values, words); });
    }
    void exactSumOfSquares(T values, T words) override
    {
        put("exactSumOfSquares", {reads(values), writes(words)}, [=, this] { m_kernels->exactSumOfSquares(values, words); });
    }
    void carryExactSums(T words) override
    {
        put("carryExactSums", {writes(words)}, [=, this] { m_kernels->carryExactSums(words); });
    }
    void clipFactor(T words, double maxNorm, T factor) override
    {
        put("clipFactor", {reads(words), writes(factor)}, [=, this] { m_kernels->clipFactor(words, maxNorm, factor); });
    }
    void adamw(const AdamwStep& step, T clipFactor, T gradient, T firstMoment, T secondMoment, T master, T parameter) override
    {
        putOn(readyApart(), "adamw",
              {reads(clipFactor), reads(gradient), writes(firstMoment), writes(secondMoment), writes(master), writes(parameter)},
              [=, this] { m_kernels->adamw(step, clipFactor, gradient, firstMoment, secondMoment, master, parameter); });
    }
    void sgd(double learningRate, T clipFactor, T gradient, T master, T parameter) override
    {
        putOn(readyApart(), "sgd", {reads(clipFactor), reads(gradient), writes(master), writes(parameter)},
              [=, this] { m_kernels->sgd(learningRate, clipFactor, gradient, master, parameter); });
    }

private:
    /// And those to the weights and biases of parts that have rows.
    static std::vector<Access> ofParts(std::span<const LinearPart> parts, std::vector<Access> accesses, Access (*access)(T))
    {
        for (const LinearPart& part : parts)
            if (part.rows > 0) {
                accesses.push_back(access(part.weight));
                accesses.push_back(access(part.bias));
            }
        return accesses;
    }
    static cuda::BatchRule batches()
    {
        const std::size_t launches = Machine::current().options().batch;
        return {.use = launches > 1 ? cuda::BatchRule::Use::always : cuda::BatchRule::Use::never,
                .launches = launches,
                .capturesAll = Machine::current().options().areGraphs};
    }
    template <class Kernel>
    void put(const char* name, std::vector<Access> accesses, Kernel&& kernel)
    {
        putOn(ready(), name, std::move(accesses), std::forward<Kernel>(kernel));
    }
    template <class Kernel>
    static void putOn(const cuda::Launcher& launcher, const char* name, std::vector<Access> accesses, Kernel&& kernel)
    {
        if (launcher.tape())
            launcher.tape()->putOther([name, accesses = std::move(accesses), kernel = std::forward<Kernel>(kernel)](
                                          cuda::Stream stream) { Machine::current().put(of(stream), name, accesses, kernel); });
        else
            Machine::current().put(of(launcher.stream()), name, std::move(accesses), std::forward<Kernel>(kernel));
    }

    const std::unique_ptr<Queue> m_kernels; ///< the CPU's
};

class EmulatedDevice final : public cuda::GpuDevice {
public:
    EmulatedDevice(int gpu, DType type) : GpuDevice(gpu, "emulated", type, type), m_cpu(makeCpuDevice(type, nullptr)) {}
    std::unique_ptr<Queue> makeQueue() override { return std::make_unique<EmulatedQueue>(m_gpu, m_cpu->makeQueue()); }

private:
    std::unique_ptr<Device> m_cpu;
};

} // namespace

std::unique_ptr<Device> makeEmulatedDevice(int gpu, DType type)
{
    if (type != DType::f32 && type != DType::f64)
        throw sim::Error(std::string("live.dtype is ") + dtypeName(type) +
                         ": the emulated machine computes with the CPU's kernels, in fp32 or fp64");
    return std::make_unique<EmulatedDevice>(gpu, type);
}

} // namespace live::emulated
