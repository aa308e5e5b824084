#include "app/lessons/lesson_text.h"

namespace app {

QString safeMarkdown(QString markdown)
{
    constexpr int kLongWord = 24; ///< characters that fit into the narrowest player
    markdown.replace(QLatin1Char('<'), QStringLiteral("&lt;")).replace(QStringLiteral("!["), QStringLiteral("! ["));
    QString out;
    int run = 0;
    bool isEntity = false;
    for (const QChar c : markdown) {
        isEntity = c == QLatin1Char('&') || (isEntity && c != QLatin1Char(';'));
        run = c.isSpace() ? 0 : run + 1;
        if (run > kLongWord && !isEntity && !c.isLowSurrogate() && !c.isMark() &&
            (c.isLetterOrNumber() || c == QLatin1Char('/'))) {
            out += QChar(0x200B); // a place to break at that takes no room
            run = 1;
        }
        out += c;
    }
    return out;
}

} // namespace app
