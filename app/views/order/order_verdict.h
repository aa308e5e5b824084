// What an edited order costs, in words above its picture, and where the numbers in them come from.
#pragma once

#include "app/views/common/because.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/order/order_draft.h"

#include <functional>

namespace app {

/// The numbers of the verdict, `first` before the others. They outlive the draft, which goes on changing.
Becauses becauseOfVerdict(const OrderDraft&, OrderDraft::VerdictNumber first);
/// How long an action takes and when it starts.
Becauses becauseOfAction(const OrderDraft&, ActionPlace);

/// What the present order costs, or why it cannot be had; below, how to go on.
void paintOrderVerdict(Canvas&, const Theme&, const OrderDraft&, const TimelineFrame&, DrawnNumbers&,
                       const std::function<Becauses(OrderDraft::VerdictNumber)>& because);

} // namespace app
