// Names of files in one list: with as much of their folders as tells those of the same name apart, as editors do.
#pragma once

#include <QFileInfo>
#include <QStringList>

namespace app {

/// One of each path, in their order: "plan.json", or "plan.json – first" beside "plan.json – second". `nameOf`: what is shown of
/// a file, &QFileInfo::fileName or &QFileInfo::completeBaseName.
QStringList namesApart(const QStringList& paths, QString (QFileInfo::*nameOf)() const);

} // namespace app
