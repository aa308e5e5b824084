// Tensors on the CPU device for the tests of its kernels: random ones, with room between their rows or without, and a check of
// gradients by differences.
#pragma once

#include "live/kernels/device.h"
#include "live/tasks/worker_pool.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <thread>
#include <vector>

namespace live {

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, float> ? DType::f32 : DType::f64;

/// A device, a queue, and tensors that live as long as it.
template <class T>
class Workbench {
public:
    explicit Workbench(WorkerPool* pool = nullptr, unsigned seed = 1)
        : m_device(makeCpuDevice(kTypeOf<T>, pool)), m_memory(*m_device), m_queue(m_device->makeQueue()), m_random(seed)
    {
    }
    Queue& queue() { return *m_queue; }
    Memory& memory() { return m_memory; }

    /// `gap` elements lie between rows.
    Tensor make(std::int64_t rows, std::int64_t columns, DType type = kTypeOf<T>, std::int64_t gap = 0)
    {
        m_arrays.push_back(m_memory.allocate(type, rows, columns + gap));
        return m_arrays.back()->columnRange(0, columns);
    }
    Tensor random(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0, double deviation = 1)
    {
        const Tensor tensor = make(rows, columns, kTypeOf<T>, gap);
        std::normal_distribution<double> normal(0, deviation);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                at(tensor, i, j) = static_cast<T>(normal(m_random));
        return tensor;
    }
    Tensor zeros(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0)
    {
        const Tensor tensor = make(rows, columns, kTypeOf<T>, gap);
        m_queue->fill(tensor, 0);
        return tensor;
    }
    Tensor integers(std::int64_t rows, std::int64_t columns, const std::vector<std::int32_t>& values)
    {
        const Tensor tensor = make(rows, columns, DType::i32);
        m_queue->fromHost(values.data(), tensor);
        return tensor;
    }
    static T& at(const Tensor& tensor, std::int64_t row, std::int64_t column)
    {
        return tensor.as<T>()[row * tensor.stride + column];
    }
    std::vector<T> values(const Tensor& tensor)
    {
        std::vector<T> result(static_cast<std::size_t>(tensor.elements()));
        m_queue->toHost(tensor, result.data());
        return result;
    }

private:
    std::unique_ptr<Device> m_device;
    Memory m_memory;
    std::unique_ptr<Queue> m_queue;
    std::list<Array> m_arrays;
    std::mt19937 m_random;
};

/// A tensor's elements in row order, as they are or as doubles.
template <class T>
std::vector<double> doubles(Workbench<T>& bench, const Tensor& tensor)
{
    const std::vector<T> values = bench.values(tensor);
    return {values.begin(), values.end()};
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

/// Compares `gradient` with central differences of value() by each element of x.
inline void expectGradient(const Tensor& x, const std::function<double()>& value, const Tensor& gradient, double tolerance = 1e-7)
{
    using Bench = Workbench<double>;
    constexpr double kStep = 1e-5;
    for (std::int64_t i = 0; i < x.rows; ++i)
        for (std::int64_t j = 0; j < x.columns; ++j) {
            double& element = Bench::at(x, i, j);
            const double old = element;
            element = old + kStep;
            const double above = value();
            element = old - kStep;
            const double below = value();
            element = old;
            const double expected = (above - below) / (2 * kStep);
            ASSERT_NEAR(Bench::at(gradient, i, j), expected, tolerance * (1 + std::abs(expected)))
                << "row " << i << " column " << j;
        }
}

inline void expectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance)
{
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

template <class T>
bool sameBits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Keeps `workers` workers busy while body runs on this thread.
inline void withWorkers(int workers, const std::function<void(WorkerPool&)>& body)
{
    WorkerPool pool(workers);
    std::atomic<bool> done = false;
    std::thread runner([&] { pool.run([&] { return done.load(); }); });
    body(pool);
    done = true;
    pool.wake();
    runner.join();
}

} // namespace live
