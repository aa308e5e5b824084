// A comparison before an audience: what the steps are made of, then the timelines on one axis, A above each of the others.
#pragma once

#include "app/shell/presentation/talk.h"
#include "app/views/compare/compare_view.h"

#include <memory>

namespace app {

/// Of what the view shows now, whatever it shows later; nullptr: nothing is compared.
std::unique_ptr<Talk> talkOfComparison(const CompareView&, const Theme&);

} // namespace app
