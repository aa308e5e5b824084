#include "app/session/names_apart.h"

#include <algorithm>

namespace app {
namespace {

/// The last of a file's folders, outermost first: "runs/first".
QString lastFolders(const QStringList& folders, qsizetype count)
{
    return folders.mid(std::max<qsizetype>(0, folders.size() - count)).join(QLatin1Char('/'));
}

} // namespace

QStringList namesApart(const QStringList& paths, QString (QFileInfo::*nameOf)() const)
{
    QStringList names;
    QList<QStringList> folders;
    for (const QString& path : paths) {
        const QFileInfo file(path);
        names << (file.*nameOf)();
        folders << file.absolutePath().split(QLatin1Char('/'), Qt::SkipEmptyParts);
    }
    QStringList out;
    for (qsizetype i = 0; i < paths.size(); ++i) {
        QList<qsizetype> others; // of the same name
        for (qsizetype j = 0; j < paths.size(); ++j)
            if (j != i && names[j] == names[i] && folders[j] != folders[i])
                others << j;
        qsizetype count = others.isEmpty() ? 0 : 1;
        const auto isShared = [&](qsizetype j) { return lastFolders(folders[j], count) == lastFolders(folders[i], count); };
        while (count > 0 && count < folders[i].size() && std::any_of(others.begin(), others.end(), isShared))
            ++count;
        out << (count == 0 ? names[i] : QStringLiteral("%1 – %2").arg(names[i], lastFolders(folders[i], count)));
    }
    return out;
}

} // namespace app
