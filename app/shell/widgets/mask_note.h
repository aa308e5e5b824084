// Words in front of a widget whose contents are hidden for now: why nothing is there.
#pragma once

#include <QLabel>

namespace app {

class MaskNote : public QLabel {
public:
    /// Covers all of `over`, which owns it; hidden until it is shown.
    explicit MaskNote(QWidget* over);

protected:
    bool eventFilter(QObject*, QEvent*) override;
};

} // namespace app
