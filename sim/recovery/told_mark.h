// What a job's annotations are called when a sentence tells of them. Private to sim/recovery.
#pragma once

#include <string>
#include <string_view>

namespace sim {

/// In quotes, without what only makes a mark stand out in a picture: "## forward ##" is "forward", torch's
/// "Optimizer.step#Adagrad.step" is "Adagrad.step", "enumerate(DataLoader)#_Iter.__next__" is "enumerate(DataLoader)" and
/// "<class 'm.Linear'>" is "m.Linear". What stands in the quotes is a part of the mark, so that a search for it finds the mark;
/// long ones and unseen characters are as quotedText() has them.
std::string toldMark(std::string_view mark);

} // namespace sim
