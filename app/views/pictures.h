// The pictures of a step, each once: the workspace's docks, --view, --figure and the export dialog are all made from this list.
#pragma once

#include "app/views/selection.h"
#include "app/views/step_view.h"

#include <memory>
#include <span>
#include <string_view>

namespace app {

enum class Picture { grid, timeline, memory, traffic, storage };

struct PictureInfo {
    Picture picture;
    const char* name;  ///< on the command line and in files: "grid"
    const char* title; ///< on screen: "Rank grid"
    std::unique_ptr<StepView> (*make)(Selection&, const Theme&);
};

std::span<const PictureInfo> pictures();
const PictureInfo& pictureInfo(Picture);
const PictureInfo* findPicture(std::string_view name); ///< nullptr: there is none of that name

} // namespace app
