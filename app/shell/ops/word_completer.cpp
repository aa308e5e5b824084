#include "app/shell/ops/word_completer.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>

namespace app {
namespace {

bool isOfWord(QChar letter)
{
    return letter.isLetterOrNumber() || letter == QLatin1Char('_') || letter == QLatin1Char('-');
}

} // namespace

WordCompleter::WordCompleter(QLineEdit& field, const QStringList& words)
    : QObject(&field), m_field(field), m_list(new QCompleter(words, this))
{
    m_list->setCaseSensitivity(Qt::CaseInsensitive);
    m_list->setWidget(&field); // not the field's own: that is asked about its whole text
    connect(&field, &QLineEdit::textEdited, this, &WordCompleter::offer);
    connect(&field, &QLineEdit::cursorPositionChanged, this, [this] {
        if (m_list->popup()->isVisible()) // it may stand in another word now
            offer();
    });
    connect(m_list, qOverload<const QString&>(&QCompleter::activated), this, &WordCompleter::take);
}

WordCompleter::Word WordCompleter::atCursor() const
{
    const QString text = m_field.text();
    const qsizetype cursor = m_field.cursorPosition();
    Word word{cursor, cursor, cursor};
    while (word.begin > 0 && isOfWord(text[word.begin - 1]))
        --word.begin;
    while (word.begin < cursor && word.end < text.size() && isOfWord(text[word.end]))
        ++word.end;
    return word;
}

/// Not within quotes, where anything may stand, and not what stands there already.
void WordCompleter::offer()
{
    const QString text = m_field.text();
    const Word word = atCursor();
    const QString begun = text.mid(word.begin, word.cursor - word.begin);
    const bool isQuoted = text.left(word.begin).count(QLatin1Char('"')) % 2 != 0;
    m_list->setCompletionPrefix(begun);
    const int count = m_list->completionCount();
    const bool isWhole = count == 1 && m_list->currentCompletion().compare(begun, Qt::CaseInsensitive) == 0;
    if (begun.isEmpty() || isQuoted || count == 0 || isWhole)
        return m_list->popup()->hide();
    m_list->complete();
}

void WordCompleter::take(const QString& word)
{
    const Word of = atCursor();
    m_field.setSelection(static_cast<int>(of.begin), static_cast<int>(of.end - of.begin));
    m_field.insert(word);
}

} // namespace app
