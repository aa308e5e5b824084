// A lesson or an exam on paper: its questions with room to answer and the pictures as they are before the reveal; the key on a
// sheet of its own behind them. The same lesson, seed and version give the same file, byte for byte.
#pragma once

#include "sim/lesson/play.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace app {

/// A PDF of A4 pages, in the light theme's colours. Wants a QGuiApplication, and no display. Throws sim::Error. `cut`: is told
/// the captions of pictures of which a part would have to be scrolled to, so large that no page has room for them.
QByteArray handoutPdf(const sim::LessonPlay&, std::uint64_t seed, const QString& version, QStringList* cut = nullptr);

} // namespace app
