// What CUDA's handles point to on the machine. Private to its stand-ins, and tests.
#pragma once

#include "live/emulated/machine.h"
#include "live/kernels/cuda/runtime.h"

namespace live::emulated {

inline Stream& of(cuda::Stream stream)
{
    return *reinterpret_cast<Stream*>(stream);
}
inline Event& of(cuda::Event event)
{
    return *reinterpret_cast<Event*>(event);
}

inline Launches& of(cuda::Graph graph)
{
    return *reinterpret_cast<Launches*>(graph);
}

/// The calling thread's. Throws where it never said which: CUDA takes GPU 0 then and prepares it, which costs memory there.
int gpuOfThread();

} // namespace live::emulated
