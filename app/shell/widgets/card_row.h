// Numbers in cards beside each other; in narrow windows in two rows or three.
#pragma once

#include <QFrame>
#include <QList>

class QGridLayout;

namespace app {

class MetricCard;

class CardRow : public QFrame {
    Q_OBJECT
public:
    explicit CardRow(const QList<MetricCard*>&, QWidget* parent = nullptr);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void arrange(int columns);

    QList<MetricCard*> m_all;
    QGridLayout* m_grid;
    int m_columns = 0;
};

} // namespace app
