// The wheel as people who come from Tracy know it: it zooms at the pointer, and scrolls with Ctrl. One place for all pictures,
// which know the other habit only.
#pragma once

#include <QObject>

namespace app {

/// While it lives and is on, wheel events of canvases come with Ctrl turned round.
class WheelHabit : public QObject {
public:
    explicit WheelHabit(QObject* parent = nullptr);
    void setZooms(bool zooms) { m_zooms = zooms; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    bool m_zooms = false, m_isPassing = false;
};

} // namespace app
