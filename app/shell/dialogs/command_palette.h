// Every command by typing a part of its name; a number goes to that rank; sources add files, spans and what else can be found.
#pragma once

#include <QDialog>
#include <QStringList>

#include <functional>
#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;

namespace app {

/// Something that can be found, and what happens when it is chosen.
struct PaletteEntry {
    QString text, hint; ///< the hint stands at the right: of commands their keys
    std::function<void()> run;
    QString what = {};         ///< a sentence, as a tool tip; empty: the hint
    bool isMeant = false;      ///< is called what was typed: stands before commands that merely have its letters
    QStringList also = {};     ///< what else it is called
    bool isLastResort = false; ///< is not chosen until somebody moves to it: nothing that was typed names it
};

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    /// `commands`: those that may be run now, asked again with every letter. `worldSize`: 0 if there are no ranks to go to.
    CommandPalette(std::function<std::vector<PaletteEntry>()> commands, int worldSize, QWidget* parent = nullptr);
    /// Asked with what was typed, trimmed; only when something was.
    using Source = std::function<std::vector<PaletteEntry>(const QString& typed)>;
    void addSource(Source);
    void setFilter(const QString&);
    QStringList shown() const;

Q_SIGNALS:
    void rankChosen(int rank);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void fill();
    void run();

    std::function<std::vector<PaletteEntry>()> m_commands;
    int m_worldSize;
    std::vector<Source> m_sources;
    std::vector<PaletteEntry> m_found; ///< commands, then from the sources: in the list's order
    QLineEdit* m_line;
    QListWidget* m_list;
    QLabel* m_nothing; ///< said in place of an empty list
};

/// The least scores of matchScore() by how a text answers, each way better than those before it.
struct MatchScore {
    static constexpr int kLetters = 0;      ///< they come in order
    static constexpr int kWords = 150;      ///< each of several begins a word, in whatever order
    static constexpr int kInWord = 151;     ///< it stands in one piece
    static constexpr int kBeginsWord = 250; ///< and a word begins with it
};
/// How well a text answers what was typed, more the nearer to its beginning. Negative: not at all.
int matchScore(const QString& text, const QString& typed);

} // namespace app
