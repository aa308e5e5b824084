#include "app/session/machine_load.h"

#include <QFile>
#include <QList>
#include <QString>
#include <QThread>

#include <algorithm>

namespace app {
namespace {

QByteArray contents(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// utime and stime, the 14th and 15th fields (proc(5)); the name, the second, may hold anything but ends with the last ")".
std::optional<double> ticksOf(qint64 process)
{
    const QByteArray text = contents(QStringLiteral("/proc/%1/stat").arg(process));
    const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
    constexpr qsizetype kUserTime = 11, kSystemTime = 12; // counted from the third
    if (fields.size() <= kSystemTime)
        return std::nullopt;
    return fields[kUserTime].toDouble() + fields[kSystemTime].toDouble();
}

} // namespace

std::optional<double> MachineLoad::othersCores(std::span<const qint64> ours)
{
    const QByteArray stat = contents(QStringLiteral("/proc/stat"));
    const QList<QByteArray> fields = stat.left(stat.indexOf('\n')).simplified().split(' ');
    constexpr qsizetype kIdle = 4, kWaiting = 5, kGuest = 9; // "cpu user nice system idle iowait …"; guests are in user
    if (fields.size() <= kWaiting || fields.first() != "cpu")
        return std::nullopt;
    Ticks now;
    for (qsizetype i = 1; i < std::min(fields.size(), kGuest); ++i) {
        now.all += fields[i].toDouble();
        now.busy += i == kIdle || i == kWaiting ? 0 : fields[i].toDouble();
    }
    for (const qint64 process : ours)
        if (const auto ticks = ticksOf(process))
            now.own[process] = *ticks;
    constexpr double kFewest = 50; // half a second of a core: less is all rounding
    if (m_last && now.all - m_last->all < kFewest)
        return std::nullopt;
    std::optional<double> cores;
    if (m_last) {
        double others = now.busy - m_last->busy;
        for (const auto& [process, ticks] : now.own)
            if (const auto before = m_last->own.find(process); before != m_last->own.end())
                others -= ticks - before->second;
        cores = std::max(0.0, others) / (now.all - m_last->all) * QThread::idealThreadCount();
    }
    m_last = std::move(now);
    return cores;
}

} // namespace app
