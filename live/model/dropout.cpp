#include "live/model/dropout.h"

namespace live {

void dropoutRows(RankContext& context, const Shape& shape, const Input& input, int layer, DropoutSite site, const Tensor& rows)
{
    const sim::LiveSettings& live = context.scenario.live;
    if (live.dropout == 0)
        return;
    const std::int64_t first = shape.sequenceParallel ? shape.localRows * shape.tpIndex : 0;
    const DropoutKey key{.seed = live.seed,
                         .step = static_cast<std::uint32_t>(context.step),
                         .layer = static_cast<std::uint32_t>(layer),
                         .site = static_cast<std::uint32_t>(site),
                         .rate = live.dropout};
    context.queue->dropout(key, input.tokens->rowRange(first, rows.rows), 0, rows, rows);
}

} // namespace live
