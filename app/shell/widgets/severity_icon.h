// How bad a finding is, told by shape as well as by colour: octagon, triangle, circle, tick.
#pragma once

#include "app/views/common/theme.h"
#include "sim/analysis/findings/findings.h"

#include <QString>
#include <QWidget>

namespace app {

class SeverityIcon : public QWidget {
    Q_OBJECT
public:
    SeverityIcon(const sim::Finding&, const Theme&, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent*) override;

private:
    sim::FindingSeverity m_severity;
    const Theme& m_theme;
};

QString severityName(const sim::Finding&); ///< "Costly"

} // namespace app
