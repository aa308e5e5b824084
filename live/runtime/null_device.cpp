#include "live/runtime/null_device.h"

#include <cstring>

namespace live {
namespace {

class NullQueue final : public Queue {
public:
    using T = const Tensor&;
    void fill(T, double) override {}
    void copy(T, T) override {}
    void add(T, T) override {}
    void fromHost(const void*, T) override {}
    void toHost(T tensor, void* host) override
    {
        std::memset(host, 0, static_cast<std::size_t>(tensor.bytes()));
        if (tensor.type != DType::i64 || tensor.columns != m_experts)
            return;
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            const std::int64_t expert = i % m_experts;
            static_cast<std::int64_t*>(host)[i] = m_choices / m_experts + (expert < m_choices % m_experts ? 1 : 0);
        }
        m_experts = 0;
    }
    void synchronize() override {}
    void linear(T, T, T, T) override {}
    void linearInputGradient(T, T, T) override {}
    void linearWeightGradient(T, T, T, T) override {}
    void addBias(T, T) override {}
    void biasGradient(T, T) override {}
    void norm(const NormRule&, T, T, T, T, T) override {}
    void normGradient(NormKind, T, T, T, T, T, T, T) override {}
    void activation(ActivationFunction, T, T) override {}
    void activationGradient(ActivationFunction, T, T, T) override {}
    void gatedActivation(ActivationFunction, T, T) override {}
    void gatedActivationGradient(ActivationFunction, T, T, T) override {}
    void rotate(T, int, T, const Rotation&, bool) override {}
    void attention(const AttentionShape&, T, T, T, T, T) override {}
    void attentionGradient(const AttentionShape&, T, T, T, T, T, T, T, T, T, bool) override {}
    void mergeAttention(int, T, T, T, T) override {}
    void attentionSinks(int, T, T, T) override {}
    void attentionSinksGradient(int, T, T, T, T, T) override {}
    void embed(T, T, std::int64_t, T) override {}
    void embedGradient(T, T, std::int64_t, T) override {}
    void rowMaximum(T, std::int64_t, T) override {}
    void exponentials(T, std::int64_t, T, T, std::int64_t, T) override {}
    void crossEntropy(T, T, T) override {}
    void crossEntropyGradient(T, T, T, std::int64_t, double) override {}
    void dropout(const DropoutKey&, T, std::int64_t, T, T) override {}
    void routeTopK(const RouterRule&, T, T, T, T, T) override {}
    void routeGradient(const RouterRule&, T, T, T, T, T, T, T) override {}
    void countExperts(T experts, T counts) override
    {
        m_choices = experts.elements();
        m_experts = counts.columns;
    }
    void sortByExpert(T, std::int64_t, T, T) override {}
    void gatherRows(T, T, std::int64_t, T) override {}
    void combineRows(T, T, T, T) override {}
    void combineGradient(T, T, T, T, T, T) override {}
    void sumRows(T, T) override {}
    void exactSum(T, T) override {}
    void exactSumOfSquares(T, T) override {}
    void carryExactSums(T) override {}
    void clipFactor(T, double, T) override {}
    void adamw(const AdamwStep&, T, T, T, T, T, T) override {}
    void sgd(double, T, T, T, T) override {}
    std::int64_t mark() override { return 0; }

private:
    std::int64_t m_choices = 0, m_experts = 0; ///< of counts that are read next: experts are chosen evenly
};

class NullDevice final : public Device {
public:
    NullDevice(DType activation, DType accumulation)
    {
        m_info.kind = "none";
        m_info.activation = activation;
        m_info.accumulation = accumulation;
    }
    const DeviceInfo& info() const override { return m_info; }
    std::unique_ptr<Queue> makeQueue() override { return std::make_unique<NullQueue>(); }
    void* allocate(std::size_t) override { return &m_nothing; }
    void release(void*, std::size_t) noexcept override {}

private:
    DeviceInfo m_info;
    char m_nothing = 0;
};

} // namespace

std::unique_ptr<Device> makeNullDevice(DType activation, DType accumulation)
{
    return std::make_unique<NullDevice>(activation, accumulation);
}

} // namespace live
