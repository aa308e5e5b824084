// Pages behind tabs. Where there is no room for all tabs beside each other, a list to choose from stands in their place, so that
// none hides behind an arrow.
#pragma once

#include <QWidget>

class QComboBox;
class QStackedWidget;
class QTabBar;

namespace app {

class RecordedTabs : public QWidget {
    Q_OBJECT
public:
    explicit RecordedTabs(const QString& accessibleName, QWidget* parent = nullptr);
    void add(const QString& name, QWidget* page);
    int current() const;
    void setCurrent(int);
    bool isList() const; ///< the list stands there

Q_SIGNALS:
    void currentChanged(int);

protected:
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override; ///< of the font

private:
    void fit();

    QTabBar* m_bar;
    QComboBox* m_list;
    QStackedWidget* m_pages;
};

} // namespace app
