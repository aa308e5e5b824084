// The catalogue and the gallery of the source tree. Wants RANKSCOPE_SOURCE_DIR.
#pragma once

#include "sim/scenario/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace test {

inline const sim::Catalogue& catalogue()
{
    static const sim::Catalogue loaded = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    return loaded;
}

/// Every file of scenarios/, by name.
inline std::vector<std::filesystem::path> galleryFiles()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace test
