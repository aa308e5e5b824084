#include "app/session/autosave.h"

#include "app/canvas/qt/save_whole.h"
#include "sim/error.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QUuid>

#include <algorithm>

namespace app {
namespace {
const QString kEnding = QStringLiteral(".autosave");
QString lockOf(const QString& autosaveFile)
{
    return autosaveFile + QStringLiteral(".lock");
}
} // namespace

Autosave::Autosave(QString folder) : m_folder(std::move(folder)) {}

Autosave::~Autosave() = default; // a window that dies with unsaved work leaves it behind; closing in peace calls remove()

bool Autosave::write(const QString& scenarioPath, const QString& name, const QString& text)
{
    if (m_folder.isEmpty())
        return false;
    if (!m_lock) {
        if (!QDir().mkpath(m_folder))
            return false;
        m_file = m_folder + QLatin1Char('/') + QUuid::createUuid().toString(QUuid::WithoutBraces) + kEnding;
        m_lock = std::make_unique<QLockFile>(lockOf(m_file));
        m_lock->setStaleLockTime(0); // stale only when its process is gone
        if (!m_lock->tryLock())
            return false;
    }
    const QJsonObject object{{QStringLiteral("path"), scenarioPath},
                             {QStringLiteral("time"), QDateTime::currentDateTimeUtc().toString(Qt::ISODate)},
                             {QStringLiteral("name"), name},
                             {QStringLiteral("text"), text}};
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
        if (!lock.tryLock())
            continue; // another window is working on it
        QFile file(path);
        constexpr qint64 kMostBytes = qint64{64} << 20; // of a scenario that can be opened
        if (file.size() > kMostBytes || QFileInfo(path).isSymLink() || !file.open(QIODevice::ReadOnly))
            continue;
        const QJsonObject object = QJsonDocument::fromJson(file.readAll()).object();
        const QString text = object.value(QStringLiteral("text")).toString();
        if (!text.isEmpty()) {
            const QString of = object.value(QStringLiteral("path")).toString();
            out.push_back({path, of, text, QDateTime::fromString(object.value(QStringLiteral("time")).toString(), Qt::ISODate),
                           of.isEmpty() ? object.value(QStringLiteral("name")).toString(QObject::tr("Untitled"))
                                        : QFileInfo(of).fileName()});
        }
    }
    std::sort(out.begin(), out.end(), [](const Recovery& a, const Recovery& b) { return a.time > b.time; });
    return out;
}

void Autosave::discard(const Recovery& recovery)
{
    QFile::remove(recovery.autosaveFile);
}

} // namespace app
