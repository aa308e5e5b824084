#include "sim/scenario/resolve/resolver.h"

namespace sim {

void Resolver::readLive(const Block& top)
{
    const Block from = block(top, "live");
    LiveSettings& live = m_out.scenario.live;
    from.read("device", live.device);
    from.read("steps", live.steps);
    from.read("learning_rate", live.learningRate);
    from.read("seed", live.seed);
    from.read("data", live.data);
    from.read("dtype", live.dtype);
    from.read("dropout", live.dropout);
    from.read("weight_decay", live.weightDecay);
    from.read("clip_norm", live.clipNorm);
    from.read("aux_loss", live.auxiliaryLoss);
}

} // namespace sim
