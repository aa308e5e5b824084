#include "app/session/trace_file.h"

#include "sim/trace/readers/read_recording.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QObject>

#include <algorithm>
#include <span>
#include <string_view>

namespace app {

bool isTrace(const QString& path)
{
    const QFileInfo info(path);
    if (info.isDir())
        return true;
    if (!info.isFile()) // a pipe would hold the window up
        return false;
    QFile file(path);
    constexpr qint64 kLookedAt = 65536;
    if (!file.open(QIODevice::ReadOnly))
        return false;
    const QByteArray head = file.read(kLookedAt);
    return sim::looksLikeTrace({head.constData(), static_cast<std::size_t>(head.size())});
}

QString whyNoRun(const QString& folder)
{
    constexpr qsizetype kMostLookedAt = 200;
    const QDir in(folder);
    const QString name = QFileInfo(in.absolutePath()).fileName();
    QFileInfoList files = in.entryInfoList(QDir::Files | QDir::Readable, QDir::Name);
    const auto isLog = [](const QFileInfo& file) {
        return file.suffix() == QLatin1String("log") || file.suffix() == QLatin1String("txt");
    };
    std::stable_partition(files.begin(), files.end(), [&](const QFileInfo& file) { return !isLog(file); });
    const bool isCut = files.size() > kMostLookedAt;
    const auto looked = std::span(files).first(static_cast<std::size_t>(isCut ? kMostLookedAt : files.size()));
    if (std::ranges::any_of(looked, [](const QFileInfo& file) { return isTrace(file.filePath()); }))
        return {};
    const QString holds = !in.isReadable()  ? QObject::tr("may not be read")
                          : files.isEmpty() ? QObject::tr("holds no files")
                          : isCut           ? QObject::tr("holds %1 files, and none of the first %2 is a trace of a profiler")
                                        .arg(files.size())
                                        .arg(kMostLookedAt)
                                  : QObject::tr("holds no trace of a profiler (PyTorch, Perfetto, Nsight, NCCL's flight "
                                                "recorder, rankscope-live)");
    const bool hasFolders = !in.entryList(QDir::Dirs | QDir::NoDotAndDotDot).isEmpty();
    return QObject::tr("“%1” %2.").arg(name.isEmpty() ? in.absolutePath() : name, holds) +
           (hasFolders ? QObject::tr(" Ctrl+Alt+O opens a folder with all folders in it.") : QString());
}

QString traceName(const QStringList& paths)
{
    if (paths.isEmpty())
        return {};
    const QString first = QFileInfo(QDir(paths.front()).absolutePath()).fileName(); // also of "run/"
    return paths.size() == 1   ? first
           : paths.size() == 2 ? QObject::tr("%1 and another").arg(first)
                               : QObject::tr("%1 and %2 others").arg(first).arg(paths.size() - 1);
}

QString measuredProfileName(const QStringList& paths, const std::string& text)
{
    constexpr int kLongest = 24, kHashDigits = 12;
    QCryptographicHash hash(QCryptographicHash::Sha256);
    for (const QString& path : paths)
        hash.addData(QFileInfo(path).absoluteFilePath().toUtf8() + '\n');
    hash.addData(QByteArray::fromStdString(text));
    const QFileInfo first(QDir(paths.value(0)).absolutePath());
    QStringList words{first.completeBaseName().left(kLongest)};
    if (!first.isDir())
        words.prepend(first.absoluteDir().dirName().left(kLongest));
    words << QString::fromLatin1(hash.result().toHex().left(kHashDigits));
    QString name;
    for (const QChar c : words.join(QLatin1Char('-')))
        name += c.isLetterOrNumber() || c == QLatin1Char('-') ? c : QLatin1Char('_');
    return name;
}

} // namespace app
