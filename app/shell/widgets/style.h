// How the window looks: palette, style sheet and fonts, all from the one Theme.
#pragma once

#include "app/session/settings.h"
#include "app/views/common/theme.h"

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QString>

class QWidget;

namespace app {

QColor toQColor(Color);
/// Inter where it is installed, else the platform's font. 11 px is the smallest.
QFont uiFont(int pixels = 13, QFont::Weight = QFont::Normal);
/// Fusion, palette, font and style sheet for the whole program.
void applyStyle(const Theme&, const QString& assets);
QColor betterColor(const Theme&); ///< of a number that changed for the better; worse is the theme's error colour
/// A line icon of assets/icons in the theme's colours.
QIcon themedIcon(const QString& assets, const QString& name, const Theme&);

/// Labels and frames take their looks from a role that the style sheet knows: "muted", "small", "heading", "value", "card", …
void setRole(QWidget*, const char* role);

const Theme& themeFor(ThemeChoice);

} // namespace app
