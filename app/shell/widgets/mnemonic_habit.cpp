#include "app/shell/widgets/mnemonic_habit.h"

#include <QAbstractButton>
#include <QCoreApplication>
#include <QEvent>
#include <QKeySequence>
#include <QList>
#include <QMessageBox>
#include <QSet>

namespace app {
namespace {

QChar mnemonicOf(const QString& text)
{
    const QKeySequence keys = QKeySequence::mnemonic(text);
    return keys.isEmpty() ? QChar() : QChar(static_cast<char16_t>(keys[0].key())).toLower();
}

} // namespace

MnemonicHabit::MnemonicHabit(QObject* parent) : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool MnemonicHabit::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Show)
        if (const auto* box = qobject_cast<QMessageBox*>(watched))
            giveMnemonics(box->buttons());
    return QObject::eventFilter(watched, event);
}

void giveMnemonics(const QList<QAbstractButton*>& buttons)
{
    QSet<QChar> taken;
    for (const QAbstractButton* button : buttons)
        taken.insert(mnemonicOf(button->text()));
    for (QAbstractButton* button : buttons) {
        const QString text = button->text();
        if (!mnemonicOf(text).isNull())
            continue;
        const auto isFree = [&](qsizetype at) { return text[at].isLetterOrNumber() && !taken.contains(text[at].toLower()); };
        qsizetype chosen = -1;
        for (qsizetype at = 0; at < text.size() && chosen < 0; ++at)
            if ((at == 0 || text[at - 1].isSpace()) && isFree(at))
                chosen = at;
        for (qsizetype at = 0; at < text.size() && chosen < 0; ++at)
            if (isFree(at))
                chosen = at;
        if (chosen < 0)
            continue;
        taken.insert(text[chosen].toLower());
        button->setText(text.left(chosen) + QLatin1Char('&') + text.mid(chosen));
    }
}

} // namespace app
