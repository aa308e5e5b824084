#include "app/session/worker_process.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>
#include <QTimer>

#include <csignal>

#ifdef Q_OS_LINUX
#include <sys/prctl.h>
#endif

namespace app {
namespace {

constexpr qsizetype kMostLines = 12;                  ///< of its last words
constexpr qsizetype kMostOutput = qsizetype{1} << 20; ///< characters
constexpr int kGoodbyeMs = 700, kForceMs = 300;       ///< how long the window's end waits for the worker's

QString signalName(int signal)
{
    switch (signal) {
    case SIGKILL:
        return QStringLiteral("SIGKILL: killed, perhaps for want of memory");
    case SIGSEGV:
        return QStringLiteral("SIGSEGV");
    case SIGABRT:
        return QStringLiteral("SIGABRT");
    case SIGTERM:
        return QStringLiteral("SIGTERM");
    case SIGINT:
        return QStringLiteral("SIGINT");
    case SIGBUS:
        return QStringLiteral("SIGBUS");
    case SIGFPE:
        return QStringLiteral("SIGFPE");
    case SIGILL:
        return QStringLiteral("SIGILL: the processor does not know an instruction");
    default:
        return {};
    }
}

void keepLast(QStringList& lines, const QString& line)
{
    if (line.trimmed().isEmpty())
        return;
    lines << line;
    if (lines.size() > kMostLines)
        lines.removeFirst();
}

} // namespace

QString WorkerEnd::text() const
{
    if (!crashed)
        return QObject::tr("ended with exit code %1").arg(code);
    if (isForced)
        return QObject::tr("did not answer and was ended by force");
    const QString name = signalName(code);
    return name.isEmpty() ? QObject::tr("was ended by signal %1").arg(code)
                          : QObject::tr("was ended by signal %1 (%2)").arg(code).arg(name);
}

QString findWorkerProgram()
{
    QString named = qEnvironmentVariable("RANKSCOPE_LIVE_PROGRAM");
    if (!named.isEmpty())
        return named;
    const QString name = QStringLiteral("rankscope-live");
    const QString beside = QStandardPaths::findExecutable(name, {QCoreApplication::applicationDirPath()});
    return beside.isEmpty() ? QStandardPaths::findExecutable(name) : beside;
}

QString noWorkerText()
{
    return QObject::tr("rankscope-live, the program that trains, is neither in %1 nor on the PATH. Build it with ./dev build.")
        .arg(QCoreApplication::applicationDirPath());
}

WorkerProcess::WorkerProcess(QObject* parent) : QObject(parent)
{
#ifdef Q_OS_LINUX
    // If the window is killed, nobody would stop the training.
    m_process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGTERM); });
#endif
    m_process.setStandardInputFile(QProcess::nullDevice());
    connect(&m_process, &QProcess::readyReadStandardOutput, this, [this] { read(QProcess::StandardOutput); });
    connect(&m_process, &QProcess::readyReadStandardError, this, [this] { read(QProcess::StandardError); });
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            Q_EMIT failedToStart(m_process.errorString());
    });
    connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        read(QProcess::StandardOutput);
        read(QProcess::StandardError);
        for (const QByteArray& rest : m_partial)
            keepLast(&rest == &m_partial[0] ? m_lastOutput : m_lastErrors, QString::fromUtf8(rest));
        Q_EMIT ended({.crashed = status == QProcess::CrashExit,
                      .isForced = m_isForced,
                      .code = code,
                      .lastLines = m_lastErrors.isEmpty() ? m_lastOutput : m_lastErrors});
    });
}

WorkerProcess::~WorkerProcess()
{
    m_process.disconnect(this);
    if (!isRunning())
        return;
    m_process.terminate();
    if (m_process.waitForFinished(kGoodbyeMs))
        return;
    m_process.kill();
    m_process.waitForFinished(kForceMs);
}

void WorkerProcess::start(const QString& program, const QStringList& arguments)
{
    m_process.start(program, arguments);
}

bool WorkerProcess::isRunning() const
{
    return m_process.state() != QProcess::NotRunning;
}

void WorkerProcess::terminate(int patienceMs)
{
    if (!isRunning())
        return;
    m_process.terminate();
    QTimer::singleShot(patienceMs, &m_process, [this] {
        m_isForced = isRunning();
        if (m_isForced)
            m_process.kill();
    });
}

void WorkerProcess::read(QProcess::ProcessChannel channel)
{
    m_process.setReadChannel(channel);
    const bool isOutput = channel == QProcess::StandardOutput;
    const QByteArray fresh = m_process.readAll();
    if (isOutput && m_output.size() < kMostOutput)
        m_output += QString::fromUtf8(fresh);
    QByteArray& partial = m_partial[isOutput ? 0 : 1];
    partial += fresh;
    for (qsizetype end = partial.indexOf('\n'); end >= 0; end = partial.indexOf('\n')) {
        const QString line = QString::fromUtf8(partial.left(end));
        partial.remove(0, end + 1);
        keepLast(isOutput ? m_lastOutput : m_lastErrors, line);
        Q_EMIT said(line);
    }
}

} // namespace app
