// The numbers above a recorded run: its step, what ranks do in it, who comes late, what was predicted.
#pragma once

#include "app/session/recorded_run.h"
#include "app/shell/widgets/card_row.h"

namespace app {

class MetricCard;

class RecordedCards : public CardRow {
    Q_OBJECT
public:
    explicit RecordedCards(QWidget* parent = nullptr);
    /// prediction: null where there is none.
    void show(const RecoveredRun&, const RecordedPredictionPtr& prediction);

private:
    RecordedCards(const QList<MetricCard*>&, QWidget* parent);
    MetricCard *m_step, *m_computing, *m_exposed, *m_idle, *m_late, *m_predicted;
};

} // namespace app
