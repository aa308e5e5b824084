// Which settings a challenge lets the learner change, in the form's words and its order.
#pragma once

#include "sim/lesson/challenge.h"
#include "sim/scenario/scenario.h"

#include <QString>

#include <vector>

namespace app {

struct AllowedSetting {
    QString name;        ///< "Tensor tp"; of a whole part of the form "all of Layout"
    std::string pointer; ///< of the first row
};
/// Those that have an effect on that scenario; empty where the challenge allows everything.
std::vector<AllowedSetting> allowedSettings(const sim::Challenge&, const sim::Scenario& start);
/// "This challenge lets you change only “Tensor tp” and all of Schedule."
QString limitText(const std::vector<AllowedSetting>&);
/// "a, b and c".
QString listedText(const QStringList&);

} // namespace app
