// A scrolled page that is built when it is first wanted: a style sheet costs half a millisecond for every widget of the window,
// seen or not, at the start and with each change of theme.
#pragma once

#include <QPointer>
#include <QScrollArea>

#include <functional>

namespace app {

class LateArea : public QScrollArea {
    Q_OBJECT
public:
    /// `build` gets the parent that the page is to have: moved into it later, all that is in the page would be styled again.
    LateArea(std::function<QWidget*(QWidget*)> build, QWidget* parent);
    void place(); ///< builds the page unless it is there
    bool isPlaced() const { return widget() != nullptr; }
    /// Below the page and always in sight, however far that is scrolled; it takes its height from what scrolls while it is shown.
    void setFoot(QWidget*);

protected:
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void placeFoot();

    std::function<QWidget*(QWidget*)> m_build;
    QPointer<QWidget> m_foot;
};

/// A pointer to the page of such an area, or of a dock that is built as late: what follows it wants the page.
template <typename Page, typename Area = LateArea>
class LatePage {
public:
    void setArea(Area* area) { m_area = area; }
    Area* area() const { return m_area; }
    /// nullptr: nobody has wanted it yet.
    Page* ifPlaced() const { return static_cast<Page*>(m_area->widget()); }
    Page& operator*()
    {
        m_area->place();
        return *ifPlaced();
    }
    Page* operator->() { return &**this; }

private:
    Area* m_area = nullptr;
};

} // namespace app
