// The numbers above a recorded run: its step, what ranks do in it, who comes late, what was predicted.
#pragma once

#include "app/session/recorded_run.h"

#include <QFrame>

class QGridLayout;

namespace app {

class MetricCard;

class RecordedCards : public QFrame {
    Q_OBJECT
public:
    explicit RecordedCards(QWidget* parent = nullptr);
    /// prediction: null where there is none.
    void show(const RecoveredRun&, const RecordedPredictionPtr& prediction);

protected:
    void resizeEvent(QResizeEvent*) override; ///< in narrow windows two rows

private:
    void arrange(int columns);
    int m_columns = 0;
    MetricCard *m_step, *m_computing, *m_exposed, *m_idle, *m_late, *m_predicted;
    QGridLayout* m_cards;
};

} // namespace app
