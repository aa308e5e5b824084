// Published measurements of the job on screen, each on one axis with the prediction and the interval that it is likely in, where
// they were printed, and why the two may differ. Hidden for a job that nobody published.
#pragma once

#include "app/session/reality.h"
#include "app/views/common/theme.h"

#include <QFrame>

class QLabel;
class QVBoxLayout;

namespace app {

/// The interval as a band, the prediction as a line in it, the measurement as a diamond.
class IntervalBar : public QWidget {
    Q_OBJECT
public:
    explicit IntervalBar(QWidget* parent = nullptr);
    /// With what stands below the ends of the band.
    void setValues(double measured, const BesideMeasured&, const QString& low, const QString& high);
    void setTheme(const Theme&);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {80, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    double m_measured = 0;
    BesideMeasured m_beside;
    QString m_low, m_high;
    const Theme* m_theme;
};

class RealityCard : public QFrame {
    Q_OBJECT
public:
    explicit RealityCard(QWidget* parent = nullptr);
    /// Reads what was measured; what is wrong with the file is told in its place.
    void setCatalogue(const sim::Catalogue&);
    void setSimulation(const std::shared_ptr<const sim::Simulation>&);
    void setTheme(const Theme&);
    QString told() const; ///< as shown, for tests and screen readers

private:
    void addLine(QVBoxLayout&, const QString& text, const char* role);

    const sim::Catalogue* m_catalogue = nullptr;
    Reality m_reality;
    QString m_problem; ///< why there is none; empty: there is
    std::shared_ptr<const sim::Simulation> m_simulation;
    const Theme* m_theme;
    QWidget* m_rows = nullptr;
    QString m_told;
};

} // namespace app
