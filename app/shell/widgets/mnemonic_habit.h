// Every answer to a question has its letter: Alt+S saves, Alt+D discards. The toolkit gives Yes and No one and leaves the others
// without; here it is one rule for all questions, so that none has to remember it.
#pragma once

#include <QObject>

class QAbstractButton;
template <typename T>
class QList;

namespace app {

/// While it lives, buttons of a message box that name no letter get one of their own words' when it is shown: the first that no
/// other button of the box has, beginnings of words before others.
class MnemonicHabit : public QObject {
public:
    explicit MnemonicHabit(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject*, QEvent*) override;
};

void giveMnemonics(const QList<QAbstractButton*>&);

} // namespace app
