// An application whose numbers have a point in every country, as files and the widgets' own formatting need them, in which what
// files say is shown as it is written, and in which whatever a slot throws is told instead of ending the program: the last net
// below all the others.
#pragma once

#include <QApplication>
#include <QString>

namespace app {

class GuardedApplication : public QApplication {
    Q_OBJECT
public:
    GuardedApplication(int& argc, char** argv);
    bool notify(QObject* receiver, QEvent* event) override;

Q_SIGNALS:
    /// Something was begun and not done.
    void failed(const QString& why);
};

} // namespace app
