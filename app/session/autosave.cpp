#include "app/session/autosave.h"

#include "app/canvas/qt/save_whole.h"
#include "sim/error.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QSysInfo>
#include <QUuid>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace app {
namespace {
const QString kEnding = QStringLiteral(".autosave");
QString lockOf(const QString& autosaveFile)
{
    return autosaveFile + QStringLiteral(".lock");
}

/// Whether another window works on what it locks. On a full or read-only disk no lock can be had though nobody else has it, nor
/// that of a dead window be taken away.
bool isAnothers(QLockFile& lock)
{
    if (lock.tryLock() || lock.error() != QLockFile::LockFailedError)
        return false;
    qint64 process = 0;
    QString host, program;
    if (!lock.getLockInfo(&process, &host, &program) || host != QSysInfo::machineHostName())
        return true;
    return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}
} // namespace

Autosave::Autosave(QString folder) : m_folder(std::move(folder)) {}

Autosave::~Autosave() = default; // a window that dies with unsaved work leaves it behind; closing in peace calls remove()

bool Autosave::write(const QString& scenarioPath, const FileStamp& stamp, const QString& name, const QString& text)
{
    if (m_folder.isEmpty())
        return false;
    if (!m_lock) {
        if (!QDir().mkpath(m_folder))
            return false;
        const QString file = m_folder + QLatin1Char('/') + QUuid::createUuid().toString(QUuid::WithoutBraces) + kEnding;
        auto lock = std::make_unique<QLockFile>(lockOf(file));
        lock->setStaleLockTime(0); // stale only when its process is gone
        if (!lock->tryLock())
            return false; // without it another window would take this work for that of a dead one
        m_file = file;
        m_lock = std::move(lock);
    }
    const QJsonObject object{
        {QStringLiteral("path"), scenarioPath}, {QStringLiteral("modified"), stamp.modified.toUTC().toString(Qt::ISODateWithMs)},
        {QStringLiteral("bytes"), stamp.bytes}, {QStringLiteral("time"), QDateTime::currentDateTimeUtc().toString(Qt::ISODate)},
        {QStringLiteral("name"), name},         {QStringLiteral("text"), text}};
    const QByteArray bytes = QJsonDocument(object).toJson();
    try {
        saveWhole(m_file, bytes);
        return true;
    } catch (const sim::Error&) {
        return false;
    }
}

void Autosave::remove()
{
    if (!m_lock)
        return;
    QFile::remove(m_file);
    m_lock.reset();
    m_file.clear();
}

std::vector<Recovery> Autosave::recoverable(const QString& folder)
{
    std::vector<Recovery> out;
    const QDir dir(folder);
    for (const QString& name : dir.entryList({QLatin1Char('*') + kEnding}, QDir::Files)) {
        const QString path = dir.filePath(name);
        QLockFile lock(lockOf(path));
        lock.setStaleLockTime(0);
        if (isAnothers(lock))
            continue;
        QFile file(path);
        constexpr qint64 kMostBytes = qint64{64} << 20; // of a scenario that can be opened
        if (file.size() > kMostBytes || QFileInfo(path).isSymLink() || !file.open(QIODevice::ReadOnly))
            continue;
        const QJsonObject object = QJsonDocument::fromJson(file.readAll()).object();
        const QString text = object.value(QStringLiteral("text")).toString();
        if (!text.isEmpty()) {
            const QString of = object.value(QStringLiteral("path")).toString();
            out.push_back(
                {path, of, text, QDateTime::fromString(object.value(QStringLiteral("time")).toString(), Qt::ISODate),
                 of.isEmpty() ? object.value(QStringLiteral("name")).toString(QObject::tr("Untitled")) : QFileInfo(of).fileName(),
                 FileStamp{QDateTime::fromString(object.value(QStringLiteral("modified")).toString(), Qt::ISODateWithMs),
                           object.value(QStringLiteral("bytes")).toInteger(-1)}});
        }
    }
    std::sort(out.begin(), out.end(), [](const Recovery& a, const Recovery& b) { return a.time > b.time; });
    return out;
}

void Autosave::discard(const QString& autosaveFile)
{
    QFile::remove(autosaveFile);
}

} // namespace app
