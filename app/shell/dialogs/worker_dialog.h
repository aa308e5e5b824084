// A job of rankscope-live that ends by itself: what it says while it works, what came of it.
#pragma once

#include "app/session/worker_process.h"

#include <QDialog>
#include <QTemporaryDir>

#include <memory>

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace app {

class WorkerDialog : public QDialog {
    Q_OBJECT
public:
    struct Job {
        QString title, what; ///< what it does, in a sentence or two
        QStringList arguments;
        QString program;     ///< empty: findWorkerProgram()
        QByteArray scenario; ///< written to a file that takes the place of "%FILE%" in the arguments; may be empty
        QString good, bad;   ///< what is said at the end
    };
    explicit WorkerDialog(Job, QWidget* parent = nullptr);
    ~WorkerDialog() override;
    bool isDone() const { return m_done; }
    QString message() const;
    qint64 workerId() const { return m_worker ? m_worker->processId() : 0; }
    /// Said after the message.
    void addResult(const QString&);

Q_SIGNALS:
    void succeeded(const QString& output);

private:
    void start();
    void end(bool good, const QString& message);

    Job m_job;
    bool m_done = false;
    QLabel* m_message;
    QPlainTextEdit* m_output;
    QProgressBar* m_progress;
    QPushButton* m_close;
    QTemporaryDir m_folder;
    std::unique_ptr<WorkerProcess> m_worker; ///< last: ends before what it shows on
};

} // namespace app
