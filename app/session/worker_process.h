// rankscope-live as a process of its own: a crash there is a message here. It never outlives the window that started it.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <optional>

namespace app {

/// How a worker ended, in words and numbers.
struct WorkerEnd {
    bool crashed = false;  ///< by a signal
    bool isForced = false; ///< by us, because it did not answer
    int code = 0;          ///< exit code, or the signal
    QStringList lastLines; ///< what it said last; errors if it said any
    bool isGood() const { return !crashed && code == 0; }
    /// "ended with exit code 1", "was killed by signal 9 (SIGKILL)"
    QString text() const;
};

/// rankscope-live beside this program, else the first on the PATH; empty if there is none. The environment variable
/// RANKSCOPE_LIVE_PROGRAM names another.
QString findWorkerProgram();
/// What a person is told who has none.
QString noWorkerText();

class WorkerProcess : public QObject {
    Q_OBJECT
public:
    explicit WorkerProcess(QObject* parent = nullptr);
    /// Ends it: a word first, then by force. Waits a second at most.
    ~WorkerProcess() override;

    void start(const QString& program, const QStringList& arguments);
    bool isRunning() const;
    qint64 processId() const { return m_process.processId(); }
    /// Asks it to end, as Ctrl-C does; by force when it has not after `patienceMs`.
    void terminate(int patienceMs);
    /// All it has written to standard output, up to a limit.
    const QString& output() const { return m_output; }

Q_SIGNALS:
    void said(const QString& line);
    void ended(const app::WorkerEnd& end);
    void failedToStart(const QString& message);

private:
    void read(QProcess::ProcessChannel);

    QProcess m_process;
    bool m_isForced = false; ///< ended by us
    QString m_output;
    QByteArray m_partial[2]; ///< unfinished line of each channel
    QStringList m_lastErrors, m_lastOutput;
};

} // namespace app
