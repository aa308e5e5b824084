// Every command by typing a part of its name; a number goes to that rank.
#pragma once

#include "app/shell/commands.h"

#include <QDialog>

#include <functional>
#include <utility>
#include <vector>

class QLineEdit;
class QListWidget;

namespace app {

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    /// `enabled`: which commands may be run now. `worldSize`: 0 if there are no ranks to go to.
    CommandPalette(std::function<bool(CommandId)> enabled, int worldSize, QWidget* parent = nullptr);
    /// Steps of the scenario that can be done now, by name and what they do; one chosen is told by its place in the list.
    void setOffers(std::vector<std::pair<QString, QString>> offers);
    void setFilter(const QString&);
    QStringList shown() const;

signals:
    void commandChosen(app::CommandId);
    void rankChosen(int rank);
    void offerChosen(int index);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void fill();
    void run();

    std::function<bool(CommandId)> m_enabled;
    int m_worldSize;
    std::vector<std::pair<QString, QString>> m_offers;
    QLineEdit* m_line;
    QListWidget* m_list;
};

/// How well a text answers what was typed: the letters must come in order; whole words and beginnings count more. Negative: not
/// at all.
int matchScore(const QString& text, const QString& typed);

} // namespace app
