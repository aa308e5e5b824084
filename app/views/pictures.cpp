#include "app/views/pictures.h"

#include "app/views/grid_view.h"
#include "app/views/memory_view.h"
#include "app/views/storage_view.h"
#include "app/views/timeline_view.h"
#include "app/views/traffic_view.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace app {
namespace {

template <typename V>
std::unique_ptr<StepView> make(Selection& selection, const Theme& theme)
{
    return std::make_unique<V>(selection, theme);
}

constexpr std::array kPictures{
    PictureInfo{Picture::grid, "grid", "Rank grid", make<GridView>},
    PictureInfo{Picture::timeline, "timeline", "Timeline", make<TimelineView>},
    PictureInfo{Picture::memory, "memory", "Memory", make<MemoryView>},
    PictureInfo{Picture::traffic, "traffic", "Traffic", make<TrafficView>},
    PictureInfo{Picture::storage, "storage", "Storage", make<StorageView>},
};

} // namespace

std::span<const PictureInfo> pictures()
{
    return kPictures;
}

const PictureInfo& pictureInfo(Picture picture)
{
    const auto found =
        std::find_if(kPictures.begin(), kPictures.end(), [&](const PictureInfo& p) { return p.picture == picture; });
    assert(found != kPictures.end());
    return *found;
}

const PictureInfo* findPicture(std::string_view name)
{
    const auto found = std::find_if(kPictures.begin(), kPictures.end(), [&](const PictureInfo& p) { return p.name == name; });
    return found == kPictures.end() ? nullptr : &*found;
}

} // namespace app
