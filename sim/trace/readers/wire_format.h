// protozero over bytes from anywhere: a field of another wire type than its message gives it throws protozero::exception, so the
// message is damaged, where protozero itself would end a debug program and read wrong bytes in others. It stands in for
// protozero's headers.
#pragma once

#ifdef PROTOZERO_CONFIG_HPP
#error "include sim/trace/readers/wire_format.h instead of protozero's headers"
#endif

#include <protozero/exception.hpp>

namespace sim {

[[noreturn]] inline void throwWrongWireType()
{
    throw protozero::invalid_tag_exception();
}

} // namespace sim

#define protozero_assert(holds) ((holds) ? static_cast<void>(0) : ::sim::throwWrongWireType())

#include <protozero/pbf_reader.hpp>
