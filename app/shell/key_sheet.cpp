#include "app/shell/key_sheet.h"

#include "app/shell/commands.h"
#include "app/shell/style.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QStringList>

#include <array>

namespace app {
namespace {

struct Gesture {
    const char *keys, *what;
};
/// What the mouse does in the pictures; keys come from the command table.
constexpr std::array<Gesture, 9> kGestures{{{"Wheel", "Scroll the rows"},
                                            {"Ctrl+Wheel", "Zoom at the pointer"},
                                            {"Shift+Wheel", "Pan in time"},
                                            {"Left drag", "Select a time range and read its length"},
                                            {"Right or Shift+drag", "Pan"},
                                            {"Middle drag", "Zoom to what is dragged over"},
                                            {"Ctrl+Click", "Add a rank to the selected ones"},
                                            {"Alt+Click on a class", "Show only this class"},
                                            {"Double click", "Frame what is under the pointer"}}};

void addLine(QGridLayout& grid, const QString& keys, const QString& what)
{
    const int row = grid.rowCount();
    auto* keyLabel = new QLabel(keys);
    QFont mono(QStringLiteral("JetBrains Mono"));
    mono.setStyleHint(QFont::Monospace);
    mono.setPixelSize(12);
    keyLabel->setFont(mono);
    auto* whatLabel = new QLabel(what);
    setRole(whatLabel, "muted");
    grid.addWidget(keyLabel, row, 0);
    grid.addWidget(whatLabel, row, 1);
}

void addHeading(QGridLayout& grid, const QString& text)
{
    auto* label = new QLabel(text.toUpper());
    setRole(label, "section");
    label->setContentsMargins(0, grid.rowCount() > 1 ? 12 : 0, 0, 2);
    grid.addWidget(label, grid.rowCount(), 0, 1, 2);
}

void addMenu(QGridLayout& grid, CommandMenu menu)
{
    addHeading(grid, QString::fromUtf8(commandMenuTitle(menu)).remove(QLatin1Char('&')));
    for (const Command& c : commands()) {
        const auto sequences = shortcutsOf(c);
        if (c.menu != menu || sequences.isEmpty())
            continue;
        QStringList keys;
        for (const QKeySequence& s : sequences)
            keys << s.toString(QKeySequence::NativeText);
        addLine(grid, keys.join(QStringLiteral("  ")), QString::fromUtf8(c.what));
    }
}

} // namespace

KeySheet::KeySheet(QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Keys"));
    auto* columns = new QHBoxLayout(this);
    columns->setContentsMargins(24, 24, 24, 24);
    columns->setSpacing(48);
    const auto column = [&] {
        auto* grid = new QGridLayout;
        grid->setHorizontalSpacing(24);
        grid->setVerticalSpacing(4);
        columns->addLayout(grid);
        return grid;
    };
    QGridLayout* left = column();
    addMenu(*left, CommandMenu::navigate);
    addHeading(*left, tr("Mouse"));
    for (const Gesture& g : kGestures)
        addLine(*left, QString::fromUtf8(g.keys), QString::fromUtf8(g.what));
    left->setRowStretch(left->rowCount(), 1);
    QGridLayout* right = column();
    for (const CommandMenu menu : {CommandMenu::file, CommandMenu::edit, CommandMenu::view, CommandMenu::live, CommandMenu::help})
        addMenu(*right, menu);
    right->setRowStretch(right->rowCount(), 1);
}

} // namespace app
