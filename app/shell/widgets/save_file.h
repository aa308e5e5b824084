// Asks where a file shall be saved.
#pragma once

#include <QString>

class QWidget;

namespace app {

/// Whether a name may end otherwise than the kinds say.
enum class FileEnding { offered, required };

/// The path that was chosen; empty: none was. A name without an ending, or where one is required without that of the chosen kind,
/// gets it before a file of that name is looked for: nothing is written over unasked. `kinds` as QFileDialog's filters, each with
/// its ending first: "Tables (*.csv);;Other (*.json)".
QString chooseSaveFile(QWidget* parent, const QString& title, const QString& suggested, const QString& kinds,
                       FileEnding = FileEnding::offered);

/// Why a file cannot be called so; empty where it can. Names of files that are no UTF-8 have a sign for what is not known of
/// them, and would be written as another file.
QString whyNoSaveName(const QString& path);

} // namespace app
