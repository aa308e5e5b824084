// Every command by typing a part of its name; a number goes to that rank.
#pragma once

#include "app/shell/commands.h"

#include <QDialog>

class QLineEdit;
class QListWidget;

namespace app {

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    /// `enabled`: which commands may be run now. `worldSize`: 0 if there are no ranks to go to.
    CommandPalette(std::function<bool(CommandId)> enabled, int worldSize, QWidget* parent = nullptr);
    void setFilter(const QString&);
    QStringList shown() const;

signals:
    void commandChosen(app::CommandId);
    void rankChosen(int rank);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void fill();
    void run();

    std::function<bool(CommandId)> m_enabled;
    int m_worldSize;
    QLineEdit* m_line;
    QListWidget* m_list;
};

/// How well a text answers what was typed: the letters must come in order; whole words and beginnings count more. Negative: not
/// at all.
int matchScore(const QString& text, const QString& typed);

} // namespace app
