// Asks for the tokens of the whole run where the scenario does not say them: days and costs follow from them.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;

namespace app {

class RunLengthAsk : public QWidget {
    Q_OBJECT
public:
    explicit RunLengthAsk(QWidget* parent = nullptr);
    QLineEdit& field() const { return *m_field; }
    void take(); ///< what was typed; as the button does

Q_SIGNALS:
    void said(double tokens);

private:
    QLineEdit* m_field;
    QPushButton* m_set;
    QLabel* m_problem;
};

} // namespace app
