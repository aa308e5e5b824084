// Words that stand in pictures and tables and may be terms of the glossary: lenses, classes of a legend, bars, headings, rows.
#pragma once

#include <QPoint>
#include <QStringList>

class QWidget;

namespace app {

/// What is named there, the nearest first; empty where nothing is.
QStringList drawnWordsAt(const QWidget& window, QPoint global);
/// What a picture or table with the focus names at the pointer, else as what is chosen in it.
QStringList focusedWords(const QWidget& focused);

} // namespace app
