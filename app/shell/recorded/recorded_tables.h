// Tables of a recorded run: each is filled from what was found out, and a line may stand for a rank or a step.
#pragma once

#include "app/session/recorded_run.h"

#include <QTableWidget>

#include <functional>

namespace app {

class RecordedTable : public QTableWidget {
    Q_OBJECT
public:
    explicit RecordedTable(const QString& name, QWidget* parent = nullptr);
    struct Line {
        QStringList cells;
        QStringList tips = {}; ///< by column; empty: none
        int key = -1;          ///< what the line stands for; -1: nothing
        bool stands = false;   ///< out: bold
    };
    /// The first column is text, the others numbers. `whyEmpty` stands where there are no lines.
    void show(const QStringList& headers, const std::vector<Line>&, const QString& whyEmpty = {});
    QString whyEmpty() const { return rowCount() == 0 ? m_whyEmpty : QString(); }
    QString text() const; ///< tab between cells, a line a row, headers first

Q_SIGNALS:
    void chosen(int key);

protected:
    void paintEvent(QPaintEvent*) override;

private:
    QString m_whyEmpty;
};

void showRanks(RecordedTable&, const RecoveredRun&);
void showCommunication(RecordedTable&, const RecoveredRun&);
void showSteps(RecordedTable&, const RecoveredRun&); ///< keys are indices of steps
void showKernelTimes(RecordedTable&, const RecoveredRun&);
QString shapesText(const RecoveredRun&); ///< what the table of shapes is, or what it lacks
void showShapes(RecordedTable&, const RecoveredRun&);
QString pathText(const RecoveredRun&, const sim::RankPath&);              ///< what the path is, or why there is none
void showPath(RecordedTable&, const RecoveredRun&, const sim::RankPath&); ///< keys are indices of stretches
QString predictionText(const RecordedPrediction&);
QString comparisonText(const QString& with, const sim::RunDifference&);
void showCalibration(RecordedTable&, const sim::RunCalibration&);
void showDifference(RecordedTable&, const sim::RunDifference&); ///< keys are ranks

} // namespace app
