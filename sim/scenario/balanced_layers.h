// How layers are dealt to stages where nobody says.
#pragma once

#include <vector>

namespace sim {

/// Even shares. What is left over goes to the inner stages first: the outer two hold embedding and head as well (Llama 3, section
/// 3.3.2: 126 layers on 128 stages).
inline std::vector<int> balancedLayers(int layers, int stages)
{
    std::vector<int> share(static_cast<std::size_t>(stages), layers / stages);
    const int left = layers % stages;
    for (int i = 0; i < left; ++i)
        ++share[static_cast<std::size_t>(i + 1 < stages - 1 ? i + 1 : (i + 2) % stages)];
    return share;
}

} // namespace sim
