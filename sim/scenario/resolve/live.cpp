#include "sim/scenario/resolve/resolver.h"

#include "sim/scenario/named_files.h"

namespace sim {

/// Only training reads it: to everything else the scenario is whole without.
void Resolver::findData(std::string& data)
{
    if (const auto place = placeOfData(m_file, data))
        data = place->string();
    else
        m_out.problems.push_back({m_file, "/live/data",
                                  "there is no file " + quotedText(data) +
                                      " beside the scenario, nor in the working directory; training needs it; nearest: builtin",
                                  Severity::warning});
}

void Resolver::readLive(const Block& top)
{
    const Block from = block(top, "live");
    LiveSettings& live = m_out.scenario.live;
    from.read("device", live.device);
    from.read("steps", live.steps);
    from.read("learning_rate", live.learningRate);
    from.read("seed", live.seed);
    if (from.read("data", live.data) && live.data != LiveSettings().data)
        findData(live.data);
    from.read("dtype", live.dtype);
    from.read("dropout", live.dropout);
    from.read("weight_decay", live.weightDecay);
    from.read("clip_norm", live.clipNorm);
    from.read("aux_loss", live.auxiliaryLoss);
}

} // namespace sim
