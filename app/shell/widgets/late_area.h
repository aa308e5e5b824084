// A scrolled page that comes into the window when it is seen first: a style sheet costs half a millisecond for every widget of
// the window, seen or not, at the start and with each change of theme.
#pragma once

#include <QScrollArea>

#include <memory>

namespace app {

class LateArea : public QScrollArea {
    Q_OBJECT
public:
    /// Takes the page.
    explicit LateArea(QWidget* page, QWidget* parent = nullptr);
    void place(); ///< before it is seen, to have the focus then
    bool holds(const QWidget* part) const { return m_page->isAncestorOf(part) || part == m_page; }

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* m_page;
    std::unique_ptr<QWidget> m_unseen; ///< the same, until it is seen
};

} // namespace app
