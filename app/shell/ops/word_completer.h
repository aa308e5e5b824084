// Offers words for the one at the cursor of a field: an expression is made of many.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

class QCompleter;
class QLineEdit;

namespace app {

class WordCompleter : public QObject {
public:
    WordCompleter(QLineEdit& field, const QStringList& words);
    QCompleter& list() const { return *m_list; }

private:
    /// In the field's text; without letters before the cursor it is empty.
    struct Word {
        qsizetype begin = 0, cursor = 0, end = 0;
    };
    Word atCursor() const;
    void offer();
    void take(const QString& word);

    QLineEdit& m_field;
    QCompleter* m_list;
};

} // namespace app
