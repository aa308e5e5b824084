// Words of a lesson's file as a label takes them. Files come from anybody.
#pragma once

#include <QString>

namespace app {

/// Markdown without HTML and pictures, and long words breakable: a label cuts what has no place to break at.
QString safeMarkdown(QString);

} // namespace app
