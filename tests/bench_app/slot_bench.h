// How long the window's thread is held while the gallery is clicked through from end to end, or sliders are moved: every event
// that is delivered is timed, by the processor time of its thread, so that what else runs on the machine does not count.
#pragma once

#include "app/shell/window/guarded_application.h"

#include <QString>
#include <QStringList>

#include <vector>

namespace app {

/// Times what is delivered from the event loop, not what a delivery delivers itself.
class TimedApplication : public GuardedApplication {
public:
    using GuardedApplication::GuardedApplication;
    struct Slot {
        double milliseconds = 0;
        QString what; ///< "MetaCall of app::Desk"
    };
    bool notify(QObject*, QEvent*) override;
    /// The longest since the last call.
    Slot takeLongest();

private:
    int m_depth = 0;
    Slot m_longest;
};

/// Print a table; return the program's exit code.
int benchSlots(TimedApplication&);
int benchSliderSlots(TimedApplication&, const QStringList& files);

} // namespace app
