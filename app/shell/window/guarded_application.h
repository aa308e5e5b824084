// An application in which whatever a slot throws is told instead of ending the program: the last net below all the others.
#pragma once

#include <QApplication>
#include <QString>

namespace app {

class GuardedApplication : public QApplication {
    Q_OBJECT
public:
    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override;

Q_SIGNALS:
    /// Something was begun and not done.
    void failed(const QString& why);
};

} // namespace app
