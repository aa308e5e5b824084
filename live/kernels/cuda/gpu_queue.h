// What communicators need to know of a GPU's queue.
#pragma once

#include "live/kernels/cuda/runtime.h"
#include "live/kernels/device.h"

namespace live::cuda {

class GpuQueue : public Queue {
public:
    virtual int gpu() const = 0;
    /// For whoever records an event on it, lets it wait or puts work on it; all that the queue was given is on it.
    virtual Stream stream() = 0;
    /// mark() on another stream of the same GPU. Any thread.
    virtual std::int64_t markOn(Stream) = 0;
};

} // namespace live::cuda
