// What bands along the tops of spans mean: of a rank's stages the first has none.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace app {

struct SpanBands {
    int chunks = 1;              ///< stages of a rank, one after another in the model
    bool otherDirection = false; ///< its second stage belongs to the copy of the model that runs the other way

    /// Of traces beside each other.
    void add(const SpanBands& other)
    {
        chunks = std::max(chunks, other.chunks);
        otherDirection = otherDirection || other.otherDirection;
    }
    /// Longest first; empty where no span has one.
    std::vector<std::string> names() const
    {
        const bool isOne = chunks == 2;
        const std::string later = isOne ? "second chunk" : "later chunks, up to " + std::to_string(chunks);
        if (chunks < 2)
            return otherDirection ? std::vector<std::string>{"the other direction", "other way"} : std::vector<std::string>{};
        if (otherDirection)
            return {later + ", or the other direction", "chunk or direction"};
        return {later, isOne ? "chunk 2" : "chunks"};
    }
};

} // namespace app
