// A dock whose contents are built when it is first shown: docks that wait to be asked for cost a window nothing until then.
#pragma once

#include <QDockWidget>

#include <functional>

namespace app {

class LateDock : public QDockWidget {
    Q_OBJECT
public:
    /// `build` makes what the dock holds. `name`: under which a saved layout knows the dock.
    LateDock(const QString& title, const char* name, std::function<QWidget*()> build, QWidget* parent);
    void place(); ///< builds the contents unless they are there
    /// Places them first: layouts that are restored or made for them know how much room they need.
    void setVisible(bool) override;

private:
    std::function<QWidget*()> m_build;
};

/// As dock.setWidget(), which lays contents that have a layout out at once, for a size that they do not keep: not this.
void setContents(QDockWidget& dock, QWidget& contents);

} // namespace app
