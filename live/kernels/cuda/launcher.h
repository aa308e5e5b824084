// How launches are made: at once on a stream, or put aside on a tape.
#pragma once

#include "live/kernels/cuda/launch_tape.h"
#include "live/kernels/cuda/runtime.h"

namespace live::cuda {

class Launcher {
public:
    /// tape: null where launches are made at once.
    Launcher(Stream stream, LaunchTape* tape = nullptr) : m_stream(stream), m_tape(tape) {} // NOLINT(google-explicit-constructor)

    /// What launches go on, sooner or later.
    Stream stream() const { return m_stream; }
    LaunchTape* tape() const { return m_tape; }
    template <class Call>
    void put(const Call& call) const
    {
        if (m_tape)
            m_tape->put(call);
        else
            call(m_stream);
    }

private:
    Stream m_stream;
    LaunchTape* m_tape;
};

struct ClearCall {
    void* data;
    std::size_t bytes;
    void operator()(Stream stream) const { clear(stream, data, bytes); }
};
inline void clear(const Launcher& launcher, void* data, std::size_t bytes)
{
    launcher.put(ClearCall{data, bytes});
}

struct CopyCall {
    const void* from;
    std::size_t fromStride;
    void* to;
    std::size_t toStride, bytes, rows;
    void operator()(Stream stream) const { copyRows(stream, from, fromStride, to, toStride, bytes, rows); }
};
/// Both in a GPU's memory: the host's may be another's when a copy that was put aside is made.
inline void copyRows(const Launcher& launcher, const void* from, std::size_t fromStride, void* to, std::size_t toStride,
                     std::size_t bytes, std::size_t rows)
{
    launcher.put(CopyCall{from, fromStride, to, toStride, bytes, rows});
}

/// A kernel's arguments, one inside the other: a tuple whose bytes may be copied.
template <class... Parameters>
struct Arguments {
};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
    First first;
    Arguments<Rest...> rest;
};

inline Arguments<> argumentsOf()
{
    return {};
}
template <class First, class... Rest>
Arguments<First, Rest...> argumentsOf(const First& first, const Rest&... rest)
{
    return {first, argumentsOf(rest...)};
}

/// f(all of them).
template <class Function, class... Before>
void withArguments(const Arguments<>&, const Function& f, const Before&... before)
{
    f(before...);
}
template <class First, class... Rest, class Function, class... Before>
void withArguments(const Arguments<First, Rest...>& arguments, const Function& f, const Before&... before)
{
    withArguments(arguments.rest, f, before..., arguments.first);
}

} // namespace live::cuda
