#include "app/shell/key_sheet.h"

#include "app/shell/commands.h"
#include "app/shell/style.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QScreen>
#include <QScrollArea>
#include <QStringList>
#include <QVBoxLayout>

#include <array>
#include <cstddef>
#include <vector>

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

/// A heading and its lines: what stays together in a column.
struct Section {
    QString title;
    struct Line {
        QString keys, text, what;
    };
    std::vector<Line> lines;
    std::size_t height() const { return lines.size() + 2; }
};

Section sectionOf(CommandMenu menu)
{
    Section out{commandMenuTitle(menu).remove(QLatin1Char('&')), {}};
    for (const Command& c : commands()) {
        const auto sequences = shortcutsOf(c);
        if (c.menu != menu || sequences.isEmpty())
            continue;
        QStringList keys;
        for (const QKeySequence& s : sequences)
            keys << s.toString(QKeySequence::NativeText);
        out.lines.push_back({keys.join(QStringLiteral("  ")), plainText(c), whatOf(c)});
    }
    return out;
}

void add(QGridLayout& grid, const Section& section)
{
    auto* heading = new QLabel(section.title.toUpper());
    setRole(heading, "section");
    heading->setContentsMargins(0, grid.rowCount() > 1 ? 14 : 0, 0, 2);
    grid.addWidget(heading, grid.rowCount(), 0, 1, 2);
    QFont mono(QStringLiteral("JetBrains Mono"));
    mono.setStyleHint(QFont::Monospace);
    mono.setPixelSize(12);
    for (const Section::Line& line : section.lines) {
        const int row = grid.rowCount();
        auto* keys = new QLabel(line.keys);
        keys->setFont(mono);
        auto* text = new QLabel(line.text);
        setRole(text, "muted");
        text->setToolTip(line.what);
        grid.addWidget(keys, row, 0);
        grid.addWidget(text, row, 1);
    }
}

} // namespace

KeySheet::KeySheet(QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Keys"));
    Section mouse{tr("Mouse"), {}};
    for (const Gesture& g : kGestures)
        mouse.lines.push_back({tr(g.keys), tr(g.what), {}});
    std::vector<Section> sections{sectionOf(CommandMenu::navigate), mouse};
    for (const CommandMenu menu : {CommandMenu::view, CommandMenu::file, CommandMenu::edit, CommandMenu::live, CommandMenu::help})
        sections.push_back(sectionOf(menu));

    auto* sheet = new QWidget;
    auto* columns = new QHBoxLayout(sheet);
    columns->setContentsMargins(24, 24, 24, 24);
    columns->setSpacing(40);
    // In columns that are about equally high.
    constexpr std::size_t kColumns = 3;
    std::size_t all = 0;
    for (const Section& section : sections)
        all += section.height();
    QGridLayout* column = nullptr;
    std::size_t placed = 0, begun = 0;
    for (const Section& section : sections) {
        if (!column || (placed + section.height() / 2 > all * begun / kColumns && begun < kColumns)) {
            column = new QGridLayout;
            column->setHorizontalSpacing(20);
            column->setVerticalSpacing(3);
            columns->addLayout(column);
            ++begun;
        }
        add(*column, section);
        placed += section.height();
    }
    for (int i = 0; i < columns->count(); ++i) {
        auto* grid = static_cast<QGridLayout*>(columns->itemAt(i)->layout());
        grid->setRowStretch(grid->rowCount(), 1);
    }
    auto* area = new QScrollArea; // only where the screen is lower than the sheet
    area->setWidget(sheet);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto* frame = new QVBoxLayout(this);
    frame->setContentsMargins(0, 0, 0, 0);
    frame->addWidget(area);
    constexpr int kAround = 40;
    resize(sheet->sizeHint().boundedTo(screen()->availableSize() - QSize(kAround, 2 * kAround)) + QSize(2, 2));
}

} // namespace app
