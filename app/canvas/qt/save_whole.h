// Files that are written whole or not at all.
#pragma once

#include <QByteArray>
#include <QString>

namespace app {

/// Throws sim::Error, with path and reason, where the disk does not take all of it; an old file then is untouched.
void saveWhole(const QString& path, const QByteArray&);

} // namespace app
