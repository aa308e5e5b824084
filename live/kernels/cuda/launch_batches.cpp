#include "live/kernels/cuda/launch_batches.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace live::cuda {
namespace {

// Steps of a trial: kernels are loaded and products planned in the first ones, graphs made in the first with batches.
constexpr int kWarm = 2, kTimed = 3, kTrial = 2 * (kWarm + kTimed);
/// Batches have to be that much faster than none.
constexpr double kWorthIt = 0.97;
/// Graphs kept: a step of more batches than these keeps a GPU busy.
constexpr std::size_t kMostGraphs = 256;

} // namespace

BatchRule batchesWanted()
{
    const char* const value = std::getenv("RANKSCOPE_CUDA_GRAPHS"); // NOLINT(concurrency-mt-unsafe): nobody writes it
    const std::string_view said = value ? value : "";
    return {.use = said.empty() ? BatchRule::Use::byTime : said == "0" ? BatchRule::Use::never : BatchRule::Use::always};
}

LaunchBatches::~LaunchBatches()
{
    for (Graph graph : m_graphs)
        destroyGraph(graph);
}

void LaunchBatches::open(Stream stream)
{
    if (!m_isUsed || m_isOpen)
        return;
    beginBatch(stream);
    m_isOpen = true;
    m_launches = 0;
}

void LaunchBatches::beforeLaunch(Stream stream)
{
    open(stream);
    ++m_launches;
}

bool LaunchBatches::start(Stream stream)
{
    if (!m_isOpen)
        return false;
    m_isOpen = false;
    const Batch batch = endBatch(stream);
    const std::size_t place = m_position++ % kMostGraphs;
    if (place >= m_graphs.size())
        m_graphs.resize(place + 1, nullptr);
    Graph& graph = m_graphs[place];
    try {
        bringTo(graph, batch);
        startGraph(graph, stream);
    } catch (...) {
        destroyBatch(batch);
        throw;
    }
    destroyBatch(batch);
    return true;
}

void LaunchBatches::stepDone(std::chrono::steady_clock::time_point now)
{
    m_position = 0;
    if (m_rule.use != BatchRule::Use::byTime || m_steps >= kTrial)
        return;
    const double seconds = std::chrono::duration<double>(now - m_stepStart).count(); // of the first step: from nowhere
    m_stepStart = now;
    if (m_steps++ % (kWarm + kTimed) >= kWarm) {
        double& best = m_best[m_isUsed ? 1 : 0];
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    m_isUsed = m_steps < kTrial ? m_steps >= kWarm + kTimed : m_best[1] < kWorthIt * m_best[0];
}

} // namespace live::cuda
