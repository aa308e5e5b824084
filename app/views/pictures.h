// The pictures of a step, each once: the workspace's docks, --view, --figure and the export dialog are all made from this list.
#pragma once

#include "app/step/selection.h"
#include "app/step/time_zoom.h"
#include "app/views/common/step_view.h"

#include <memory>
#include <span>
#include <string_view>

namespace app {

enum class Picture { grid, timeline, memory, traffic, storage, block };

struct PictureInfo {
    Picture picture;
    const char* name;  ///< on the command line and in files: "grid"
    const char* title; ///< on screen: "Rank grid"
    /// With a zoom of the time axis that it shares with others, or nullptr.
    std::unique_ptr<StepView> (*make)(Selection&, const Theme&, TimeZoom*);
    /// What takes long of showing a step, on a worker: for setStep(). Nothing takes long: nullptr, as its answer may be.
    PictureModelPtr (*prepare)(const ShownStep&);
    bool whenAsked = false; ///< hidden until somebody wants it
};

std::span<const PictureInfo> pictures();
const PictureInfo& pictureInfo(Picture);
const PictureInfo* findPicture(std::string_view name); ///< nullptr: there is none of that name

} // namespace app
