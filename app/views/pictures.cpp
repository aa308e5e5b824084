#include "app/views/pictures.h"

#include "app/views/block/block_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/memory/memory_view.h"
#include "app/views/storage/storage_view.h"
#include "app/views/timeline/timeline_view.h"
#include "app/views/traffic/traffic_view.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>

namespace app {
namespace {

template <typename V>
std::unique_ptr<StepView> make(Selection& selection, const Theme& theme, TimeZoom* zoom)
{
    if constexpr (std::is_constructible_v<V, Selection&, const Theme&, TimeZoom*>)
        return std::make_unique<V>(selection, theme, zoom);
    else // without a time axis
        return std::make_unique<V>(selection, theme);
}

constexpr std::array kPictures{
    PictureInfo{Picture::grid, "grid", "Rank grid", make<GridView>, nullptr},
    PictureInfo{Picture::timeline, "timeline", "Timeline", make<TimelineView>, TimelineView::prepare},
    PictureInfo{Picture::memory, "memory", "Memory", make<MemoryView>, MemoryView::prepare},
    PictureInfo{Picture::traffic, "traffic", "Traffic", make<TrafficView>, TrafficView::prepare},
    PictureInfo{Picture::storage, "storage", "Storage", make<StorageView>, nullptr},
    PictureInfo{Picture::block, "block", "Block", make<BlockView>, nullptr, true},
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
