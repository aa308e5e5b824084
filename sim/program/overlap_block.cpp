#include "sim/program/overlap_block.h"

#include <algorithm>
#include <array>

namespace sim {

namespace {

bool isExpertComm(const Op& op)
{
    return op.kind == OpKind::collective && op.stream == Stream::ep;
}

/// Pieces that end behind the all-to-alls; the last may be empty of them.
std::vector<Pass> cut(const Pass& pass)
{
    std::vector<Pass> pieces(1);
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        pieces.back().ops.push_back(pass.ops[i]);
        pieces.back().shapes.push_back(pass.shapes[i]);
        if (isExpertComm(pass.ops[i]) && i + 1 < pass.ops.size() && !isExpertComm(pass.ops[i + 1]))
            pieces.emplace_back();
    }
    return pieces;
}

bool endsInExpertComm(const Pass& piece)
{
    return !piece.ops.empty() && isExpertComm(piece.ops.back());
}

/// An op's waits cover all that was issued before on a stream. Once this piece has issued its all-to-all, the other pass could no
/// longer wait for its own alone: so the wait goes in before it.
void waitBeforeExpertComm(Pass& piece, std::uint16_t waitLabel)
{
    auto at = piece.ops.size();
    while (at > 0 && isExpertComm(piece.ops[at - 1]))
        --at;
    Op wait;
    wait.kind = OpKind::wait;
    wait.waits = maskOf(Stream::ep);
    wait.label = waitLabel;
    piece.ops.insert(piece.ops.begin() + static_cast<std::ptrdiff_t>(at), wait);
    piece.shapes.insert(piece.shapes.begin() + static_cast<std::ptrdiff_t>(at), OpShape{});
}

} // namespace

std::vector<BlockPiece> overlapBlock(const Pass& forward, const Pass& backward, std::uint16_t waitLabel)
{
    std::array<std::vector<Pass>, 2> sides{cut(forward), cut(backward)};
    std::vector<BlockPiece> pieces;
    for (std::size_t i = 0; i < std::max(sides[0].size(), sides[1].size()); ++i)
        for (std::size_t side = 0; side < 2; ++side)
            if (i < sides[side].size())
                pieces.push_back({.pass = std::move(sides[side][i]),
                                  .ofForward = side == 0,
                                  .first = i == 0,
                                  .last = i + 1 == sides[side].size()});
    // Between two pieces of a pass lies one of the other: what the second waits for is waited for there.
    for (std::size_t i = 2; i < pieces.size(); ++i) {
        BlockPiece& between = pieces[i - 1];
        if (pieces[i].ofForward != pieces[i - 2].ofForward || between.ofForward == pieces[i].ofForward ||
            !endsInExpertComm(pieces[i - 2].pass) || !endsInExpertComm(between.pass))
            continue;
        waitBeforeExpertComm(between.pass, waitLabel);
        for (Op& op : pieces[i].pass.ops)
            if (op.stream != Stream::ep)
                op.waits &= static_cast<StreamMask>(~maskOf(Stream::ep));
    }
    return pieces;
}

} // namespace sim
