// Every command by typing a part of its name; a number goes to that rank; sources add files, spans and what else can be found.
#pragma once

#include "app/shell/commands.h"

#include <QDialog>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace app {

/// Something else that can be found, and what happens when it is chosen.
struct PaletteEntry {
    QString text, hint; ///< the hint stands at the right, where commands have their keys
    std::function<void()> run;
};

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    /// `enabled`: which commands may be run now. `worldSize`: 0 if there are no ranks to go to.
    CommandPalette(std::function<bool(CommandId)> enabled, int worldSize, QWidget* parent = nullptr);
    /// Asked with what was typed, trimmed; only when something was.
    using Source = std::function<std::vector<PaletteEntry>(const QString& typed)>;
    void addSource(Source);
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
    std::vector<Source> m_sources;
    std::vector<PaletteEntry> m_found; ///< from the sources, in the list's order
    QLineEdit* m_line;
    QListWidget* m_list;
};

/// How well a text answers what was typed: the letters must come in order; whole words and beginnings count more. Negative: not
/// at all.
int matchScore(const QString& text, const QString& typed);

} // namespace app
