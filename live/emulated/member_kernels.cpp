// What moves and sums the tensors of ranks that share an imaginary GPU.
#include "live/comm/cuda/member_kernels.h"

#include "live/comm/reduction.h"
#include "live/emulated/handles.h"

#include <cstring>

namespace live::cuda {
namespace {

using emulated::Access, emulated::Machine, emulated::of;

Access piece(const void* data, std::int64_t bytes, bool isWritten)
{
    const auto size = static_cast<std::size_t>(bytes);
    return {static_cast<const std::byte*>(data), size, size, 1, isWritten};
}

} // namespace

void copyPiecesOn(Stream stream, std::span<const Piece> pieces)
{
    if (pieces.empty())
        return;
    std::vector<Access> accesses;
    for (const Piece& each : pieces) {
        accesses.push_back(piece(each.from, each.bytes, false));
        accesses.push_back(piece(each.to, each.bytes, true));
    }
    const std::vector<Piece> kept(pieces.begin(), pieces.end());
    Machine::current().put(of(stream), "copy between ranks", std::move(accesses), [kept] {
        for (const Piece& each : kept)
            std::memmove(each.to, each.from, static_cast<std::size_t>(each.bytes));
    });
}

void reduceMembersOn(Stream stream, const MemberReduction& reduction)
{
    const std::int64_t bytes = reduction.count * bytesOf(reduction.type);
    const std::size_t members = reduction.inputs.size();
    std::vector<Access> accesses;
    for (const void* input : reduction.inputs)
        accesses.push_back(piece(input, reduction.scatter ? bytes * static_cast<std::int64_t>(members) : bytes, false));
    for (void* output : reduction.outputs)
        accesses.push_back(piece(output, bytes, true));
    WorkerPool& pool = Machine::current().pool();
    Machine::current().put(of(stream), "sum over ranks", std::move(accesses), [reduction, members, bytes, &pool] {
        if (!reduction.scatter)
            return reduceInOrder(pool, reduction.type, reduction.reduce, reduction.count, reduction.inputs, reduction.outputs);
        for (std::size_t part = 0; part < members; ++part) {
            std::vector<const void*> slices;
            for (const void* whole : reduction.inputs)
                slices.push_back(static_cast<const std::byte*>(whole) + static_cast<std::int64_t>(part) * bytes);
            reduceInOrder(pool, reduction.type, reduction.reduce, reduction.count, slices, {&reduction.outputs[part], 1});
        }
    });
}

} // namespace live::cuda
