// The languages that the program speaks: rankscope_CODE.qm, which the build makes of assets/translations/rankscope_CODE.ts.
#pragma once

#include <QString>
#include <QStringList>

class QCoreApplication;

namespace app {

/// Codes ("de") of the translations there are; English needs none.
QStringList translationsIn(const QString& assets);
/// From now on texts are in that language, or in the desktop's if it is empty; English where there is no translation.
void installTranslation(QCoreApplication&, const QString& assets, const QString& language);

} // namespace app
