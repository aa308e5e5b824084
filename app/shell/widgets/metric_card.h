// One number with its unit, what it means, and how it moved since the last change.
#pragma once

#include "app/shell/widgets/format.h"

#include <QFrame>

#include <functional>

class QLabel;
class QVBoxLayout;

namespace app {

enum class Better { lower, higher, neither };
enum class DeltaUnit { percent, points }; ///< points: of a fraction, in percent of the whole

class MetricCard : public QFrame {
    Q_OBJECT
public:
    MetricCard(const QString& title, Better, DeltaUnit = DeltaUnit::percent, QWidget* parent = nullptr);
    QString title() const;
    void setTitle(const QString&);
    void setValue(const Quantity&);
    void setNote(const QString&, Qt::TextFormat = Qt::PlainText);
    /// No arrow where nothing moved by at least half a unit of the last digit shown.
    /// What changes are told against; those against a pinned baseline have a frame.
    void setAgainst(const QString& what, bool isBaseline);
    void showChange(double before, double after);
    void hideChange();
    /// Something below the number: a bar.
    void addBelow(QWidget*);
    QString deltaText() const;
    /// The number can say where it comes from: a mark shows it, a click or Enter asks.
    void setExplained(bool);
    /// The title can say what it means: it is underlined under the pointer, a click on it asks. `toolTip` makes what the card
    /// says when it is rested on, drawing and all, when somebody does.
    void setTerm(const QString& term, std::function<QString()> toolTip = {});
    const QString& term() const { return m_term; } ///< empty: it is explained nowhere

Q_SIGNALS:
    void termRequested();
    void explanationRequested();

protected:
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

    bool event(QEvent*) override;
    bool eventFilter(QObject*, QEvent*) override; ///< of the title

private:
    bool isExplained() const { return focusPolicy() != Qt::NoFocus; }

    Better m_better;
    DeltaUnit m_deltaUnit;
    QString m_term;
    std::function<QString()> m_makeToolTip;
    QLabel *m_title, *m_value, *m_unit, *m_delta, *m_note, *m_because;
    QVBoxLayout* m_column;
};

} // namespace app
