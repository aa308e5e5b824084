#include "app/canvas/qt/unfinished_file.h"

#include "sim/error.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace app {
namespace {

/// Nobody has it locked: whoever wrote it was ended before it was whole.
bool isLeft(const QString& file)
{
    const int descriptor = ::open(QFile::encodeName(file).constData(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    const bool isFree = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    ::close(descriptor);
    return isFree;
}

/// "step.svg.4711.part". Of a long name its end, which tells frames apart: with what follows it must not be longer than names may
/// be, 255 bytes.
QString unfinishedName(const QString& name, const QString& process)
{
    constexpr qsizetype kMostBytes = 235;
    const QByteArray bytes = QFile::encodeName(name);
    qsizetype from = std::max<qsizetype>(0, bytes.size() - kMostBytes);
    while (from < bytes.size() && (static_cast<unsigned char>(bytes[from]) & 0xC0U) == 0x80U) // within a character of UTF-8
        ++from;
    return QStringLiteral("%1.%2.part").arg(QFile::decodeName(bytes.mid(from)), process);
}

/// "step.svg.4711.part" of a program that is gone, and with it "step-0001.svg.4711.part" and so on. What has such a name by
/// chance is another's: only what a program of that number has written and not locked any more goes.
void removeLeft(const QString& path)
{
    const QFileInfo of(path);
    const QDir folder = of.dir();
    static const QRegularExpression kProcess(QStringLiteral("\\.(\\d+)\\.part$")),
        kFrame(QStringLiteral("(-\\d+\\.[^.]*)\\.\\d+\\.part$"));
    const QStringList parts = folder.entryList({QStringLiteral("*.part")}, QDir::Files | QDir::Hidden);
    for (const QString& name : parts) {
        const QString process = kProcess.match(name).captured(1);
        if (process.isEmpty() || name != unfinishedName(of.fileName(), process) || !isLeft(folder.filePath(name)))
            continue;
        for (const QString& each : parts) {
            const QString number = kFrame.match(each).captured(1); // "-0001.svg"
            if (!number.isEmpty() && number.endsWith(QLatin1Char('.') + of.suffix()) &&
                each == unfinishedName(of.completeBaseName() + number, process))
                QFile::remove(folder.filePath(each));
        }
        QFile::remove(folder.filePath(name));
    }
}

} // namespace

UnfinishedFile::UnfinishedFile(const QString& path) : m_path(path), m_name(nameFor(path))
{
    removeLeft(path);
    m_lock = ::open(QFile::encodeName(m_name).constData(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (m_lock < 0)
        throw sim::Error(path.toStdString() + ": cannot be written: " + std::strerror(errno));
    ::flock(m_lock, LOCK_EX | LOCK_NB); // where a file system knows no locks, what is left there stays
}

UnfinishedFile::~UnfinishedFile()
{
    if (m_lock >= 0) {
        QFile::remove(m_name);
        ::close(m_lock);
    }
}

QString UnfinishedFile::nameFor(const QString& path)
{
    const QFileInfo of(path);
    return of.dir().filePath(unfinishedName(of.fileName(), QString::number(::getpid())));
}

void UnfinishedFile::putInPlace()
{
    app::putInPlace(m_name, m_path);
    ::close(m_lock);
    m_lock = -1;
}

void putInPlace(const QString& part, const QString& path)
{
    std::error_code error;
    std::filesystem::rename(QFile::encodeName(part).toStdString(), QFile::encodeName(path).toStdString(), error);
    if (error)
        throw sim::Error(path.toStdString() + ": cannot be written: " + error.message());
}

} // namespace app
