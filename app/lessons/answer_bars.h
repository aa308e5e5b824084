// Several numbers that were answered, beside the engine's: a bar each, on one axis.
#pragma once

#include <QStringList>
#include <QWidget>

#include <utility>
#include <vector>

namespace app {

class AnswerBars : public QWidget {
public:
    struct Bar {
        QString name;
        double yours = 0, engines = 0;
        QString yourText, engineText;
    };
    /// `range`: of the axis; it is made wider where an answer lies outside.
    AnswerBars(std::vector<Bar>, std::pair<double, double> range, QWidget* parent);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    int lineHeight() const;
    const std::vector<Bar> m_bars;
    double m_from, m_to;
};

} // namespace app
