#include "live/kernels/device.h"

namespace live {
namespace {

/// f(part, its rows of a, its rows of b), for parts with rows.
template <class F>
void forEachPart(std::span<const LinearPart> parts, const Tensor& a, const Tensor& b, const F& f)
{
    std::int64_t first = 0;
    for (const LinearPart& part : parts) {
        if (part.rows > 0)
            f(part, a.rowRange(first, part.rows), b.rowRange(first, part.rows));
        first += part.rows;
    }
    assert(first == a.rows && first == b.rows);
}

} // namespace

void Queue::linearParts(std::span<const LinearPart> parts, const Tensor& x, const Tensor& y)
{
    forEachPart(parts, x, y,
                [&](const LinearPart& part, const Tensor& from, const Tensor& to) { linear(from, part.weight, part.bias, to); });
}

void Queue::linearPartsInputGradient(std::span<const LinearPart> parts, const Tensor& dy, const Tensor& dx)
{
    forEachPart(parts, dy, dx, [&](const LinearPart& part, const Tensor& from, const Tensor& to) {
        linearInputGradient(from, part.weight, to);
    });
}

void Queue::linearPartsWeightGradient(std::span<const LinearPart> gradients, const Tensor& dy, const Tensor& x)
{
    forEachPart(gradients, dy, x, [&](const LinearPart& part, const Tensor& slope, const Tensor& from) {
        linearWeightGradient(slope, from, part.weight, part.bias);
    });
}

KernelTimes* Device::timeKernels(std::string* why)
{
    *why = info().name + " has no profiler that times its kernels";
    return nullptr;
}

} // namespace live
