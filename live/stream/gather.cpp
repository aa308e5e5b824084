#include "live/stream/gather.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace live {

class SpanGatherer::Thread {
public:
    Thread(const std::vector<SpanSource>& sources, SpanKinds& kinds, std::vector<Recorder*> recorders)
        : m_kinds(kinds), m_recorders(std::move(recorders))
    {
        for (const SpanSource& source : sources) {
            ViewerOptions options{.keys = source.keys, .wake = [this] { wake(); }};
            options.history.bytes = 0; // spans are handed on, not kept
            m_sources.push_back({std::make_unique<Viewer>(source.endpoint, std::move(options)), source.offsetAt, {}, false});
        }
        m_thread = std::thread([this] { work(); });
    }
    ~Thread()
    {
        m_stop = true;
        wake();
        m_thread.join();
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    bool finish(std::chrono::milliseconds atMost)
    {
        std::unique_lock lock(m_mutex);
        return m_ended.wait_for(lock, atMost, [&] { return m_allEnded; });
    }

private:
    struct Source {
        std::unique_ptr<Viewer> viewer;
        std::function<std::int64_t(std::int64_t)> offsetAt;
        std::vector<std::uint32_t> kinds; ///< its kind -> ours
        bool ended = false;               ///< it has said its last word, which comes after its spans
    };

    void wake()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_news = true;
        }
        m_changed.notify_all();
    }

    void work()
    {
        while (!m_stop) {
            {
                std::unique_lock lock(m_mutex);
                m_changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return m_news || m_stop; });
                m_news = false;
            }
            bool allEnded = true;
            for (Source& source : m_sources) {
                take(source);
                allEnded = allEnded && source.ended;
            }
            const std::lock_guard lock(m_mutex);
            m_allEnded = allEnded;
            if (allEnded)
                m_ended.notify_all();
        }
    }

    void take(Source& source)
    {
        if (!source.viewer->poll(m_update))
            return;
        if (m_update.run && hasEnded(m_update.run->status))
            source.ended = true;
        for (const sim::SpanKind& kind : m_update.kinds)
            source.kinds.push_back(m_kinds.id(kind));
        for (const RankSpan& rankSpan : m_update.spans) {
            Recorder* recorder = recorderOf(rankSpan.rank);
            if (!recorder)
                continue;
            SpanRecord span = rankSpan.span;
            span.kind = source.kinds.at(span.kind);
            const std::int64_t offset = source.offsetAt(span.startNs);
            span.startNs += offset;
            span.readyNs += offset;
            span.endNs += offset;
            recorder->spans.push(span);
        }
        for (const RankMemory& memory : m_update.memory)
            if (Recorder* recorder = recorderOf(memory.rank))
                recorder->memory.push({memory.value.timeNs + source.offsetAt(memory.value.timeNs), memory.value.value});
    }

    Recorder* recorderOf(std::int32_t rank) const
    {
        return rank >= 0 && static_cast<std::size_t>(rank) < m_recorders.size() ? m_recorders[static_cast<std::size_t>(rank)]
                                                                                : nullptr;
    }

    SpanKinds& m_kinds;
    const std::vector<Recorder*> m_recorders;
    std::vector<Source> m_sources;
    ViewerUpdate m_update;
    std::mutex m_mutex;
    std::condition_variable m_changed, m_ended;
    bool m_news = false, m_allEnded = false;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

SpanGatherer::SpanGatherer(const std::vector<SpanSource>& sources, SpanKinds& kinds, std::vector<Recorder*> recorders)
    : m_thread(std::make_unique<Thread>(sources, kinds, std::move(recorders)))
{
}

SpanGatherer::~SpanGatherer() = default;

bool SpanGatherer::finish(std::chrono::milliseconds atMost)
{
    return m_thread->finish(atMost);
}

} // namespace live
