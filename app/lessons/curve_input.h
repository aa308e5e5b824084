// A curve that is sketched between two axes: drawn by dragging, or place by place with the arrow keys; spoken either way. The
// value under the pointer stands above it. Afterwards the engine's curve lies over it.
#pragma once

#include "app/lessons/answer_input.h"

#include <QStringList>

#include <optional>
#include <vector>

namespace app {

class CurveInput : public AnswerInput {
    Q_OBJECT
public:
    /// `range`: of the values; `scale` times them is what is shown, 100 for percent. `step`: of a key; 0: a hundredth of the
    /// range.
    CurveInput(const QStringList& places, const QString& unit, std::pair<double, double> range, double scale, double step,
               QWidget* parent = nullptr);

    sim::LessonValue value() const override; ///< null until every place has a value
    void setValue(const sim::LessonValue&) override;
    void setEngines(const std::vector<double>&);
    /// What the places count, such as "virtual stages"; empty: nothing is written.
    void setAlong(const QString& along) { m_along = along; }
    /// Read only, but for the values under the pointer.
    void setAnswered() override { setCursor(Qt::ArrowCursor); }
    void fitInto(int height) override;
    std::vector<double> ticks() const; ///< values that a line is drawn at, ascending
    QString readout() const;           ///< above the plot: the value under the pointer; empty without one
    int place() const { return m_place; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return false; }

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void leaveEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;

private:
    static constexpr int kUsualHeight = 200;
    void paintAxes(QPainter&) const;
    void paintCurves(QPainter&) const;
    QRectF plot() const;
    QPointF pointOf(std::size_t place, double value) const;
    double valueAt(double y) const;
    int placeAt(double x) const;
    void put(int place, double value);
    void drawTo(QPointF);
    void speak();
    QString shown(double value) const;

    const QStringList m_places;
    const QString m_unit;
    QString m_along;
    const double m_from, m_to, m_scale, m_step;
    std::vector<std::optional<double>> m_values;
    std::vector<double> m_engines;
    int m_place = 0, m_height = kUsualHeight;
    std::optional<QPointF> m_pointer;
    std::optional<int> m_last; ///< place that a drag passed last
};

} // namespace app
