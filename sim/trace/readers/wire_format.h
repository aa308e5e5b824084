// protozero over bytes from anywhere: it asserts that a field has the wire type its reader asks for, so other bytes end a debug
// program and are read wrongly by others. Here such a field is an exception of protozero like all damage.
#pragma once

#include <protozero/pbf_reader.hpp>

#include <cstdint>
#include <string_view>

namespace sim {

/// A protobuf message. Every `get` throws protozero::exception where the field is of another wire type or ends too early.
class WireMessage : public protozero::pbf_reader {
public:
    explicit WireMessage(std::string_view bytes) : pbf_reader(bytes.data(), bytes.size()) {}

    bool get_bool() { return ask(Type::varint).pbf_reader::get_bool(); }
    std::int32_t get_int32() { return ask(Type::varint).pbf_reader::get_int32(); }
    std::uint32_t get_uint32() { return ask(Type::varint).pbf_reader::get_uint32(); }
    std::int64_t get_int64() { return ask(Type::varint).pbf_reader::get_int64(); }
    std::uint64_t get_uint64() { return ask(Type::varint).pbf_reader::get_uint64(); }
    std::uint64_t get_fixed64() { return ask(Type::fixed64).pbf_reader::get_fixed64(); }
    double get_double() { return ask(Type::fixed64).pbf_reader::get_double(); }
    std::string_view get_view()
    {
        const protozero::data_view view = ask(Type::length_delimited).pbf_reader::get_view();
        return {view.data(), view.size()};
    }
    WireMessage get_message() { return WireMessage(get_view()); }
    auto get_packed_fixed64() { return ask(Type::length_delimited).pbf_reader::get_packed_fixed64(); }
    auto get_packed_uint64() { return ask(Type::length_delimited).pbf_reader::get_packed_uint64(); }

private:
    using Type = protozero::pbf_wire_type;

    WireMessage& ask(Type type)
    {
        if (wire_type() != type)
            throw protozero::unknown_pbf_wire_type_exception();
        return *this;
    }
};

} // namespace sim
