// Events of communicators, used again when nobody holds them: making one costs more than recording it.
#pragma once

#include "live/kernels/cuda/runtime.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace live::cuda {

using SharedEvent = std::shared_ptr<CUevent_st>;

/// Any thread. Events may outlive it.
class EventPool {
public:
    /// An event without timing, of a GPU, which must be current.
    SharedEvent take(int gpu)
    {
        Event event = nullptr;
        {
            const std::lock_guard lock(m_free->mutex);
            std::vector<Event>& events = m_free->events[gpu];
            if (!events.empty()) {
                event = events.back();
                events.pop_back();
            }
        }
        if (!event)
            event = createEvent(false);
        return {event, [gpu, free = m_free](Event done) {
                    const std::lock_guard lock(free->mutex);
                    free->events[gpu].push_back(done);
                }};
    }

private:
    struct Free {
        std::mutex mutex;
        std::map<int, std::vector<Event>> events; ///< by GPU
        ~Free()
        {
            for (const auto& [gpu, list] : events)
                for (Event event : list)
                    destroyEvent(event);
        }
    };
    std::shared_ptr<Free> m_free = std::make_shared<Free>();
};

} // namespace live::cuda
