// A bar of shares with its legend: memory by what holds it, a step by what it waits for.
#pragma once

#include "app/views/common/theme.h"

#include <QColor>
#include <QString>
#include <QWidget>

#include <vector>

namespace app {

class StackedBar : public QWidget {
    Q_OBJECT
public:
    struct Segment {
        QString name;
        double value = 0;
        QString text; ///< the value for people
        QColor color;
    };
    explicit StackedBar(QWidget* parent = nullptr);
    /// `capacity`: what a full bar means; where the sum is larger the bar shows how far it goes over.
    void setSegments(std::vector<Segment>, double capacity);
    void setTheme(const Theme&);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// The legend as text, for screen readers and tests.
    QString summary() const;
    static Color trackColor(const Theme&); ///< of what no part fills

protected:
    void paintEvent(QPaintEvent*) override;

private:
    std::vector<Segment> m_segments;
    double m_capacity = 0;
    const Theme* m_theme;
};

} // namespace app
