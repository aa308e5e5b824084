#include "app/shell/dialogs/key_sheet.h"

#include "app/shell/widgets/style.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <array>
#include <cstddef>
#include <vector>

namespace app {
namespace {

struct Gesture {
    const char *keys, *what;
};
/// What the mouse does in the pictures.
constexpr std::array<Gesture, 9> kGestures{{{"Wheel", "Scroll the rows"},
                                            {"Ctrl+Wheel", "Zoom at the pointer"},
                                            {"Shift+Wheel", "Pan in time"},
                                            {"Left drag", "Select a time range and read its length"},
                                            {"Right or Shift+drag", "Pan"},
                                            {"Middle drag", "Zoom to what is dragged over"},
                                            {"Ctrl+Click", "Add a rank to the selected ones"},
                                            {"Alt+Click on a class", "Show only this class"},
                                            {"Double click", "Frame what is under the pointer"}}};

std::size_t heightOf(const KeySheet::Section& section)
{
    return section.lines.size() + 2;
}

void add(QGridLayout& grid, const KeySheet::Section& section)
{
    auto* heading = new QLabel(section.title.toUpper());
    setRole(heading, "section");
    heading->setContentsMargins(0, grid.rowCount() > 1 ? 14 : 0, 0, 2);
    grid.addWidget(heading, grid.rowCount(), 0, 1, 2);
    QFont mono(QStringLiteral("JetBrains Mono"));
    mono.setStyleHint(QFont::Monospace);
    mono.setPixelSize(12);
    for (const KeySheet::Section::Line& line : section.lines) {
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

/// In so many columns that are about equally high.
QWidget* sheetOf(const std::vector<KeySheet::Section>& sections, std::size_t count)
{
    auto* sheet = new QWidget;
    auto* columns = new QHBoxLayout(sheet);
    columns->setContentsMargins(24, 24, 24, 24);
    columns->setSpacing(40);
    std::size_t all = 0;
    for (const KeySheet::Section& section : sections)
        all += heightOf(section);
    QGridLayout* column = nullptr;
    std::size_t placed = 0, begun = 0;
    for (const KeySheet::Section& section : sections) {
        if (!column || (placed + heightOf(section) / 2 > all * begun / count && begun < count)) {
            column = new QGridLayout;
            column->setHorizontalSpacing(20);
            column->setVerticalSpacing(3);
            columns->addLayout(column);
            ++begun;
        }
        add(*column, section);
        placed += heightOf(section);
    }
    for (int i = 0; i < columns->count(); ++i) {
        auto* grid = static_cast<QGridLayout*>(columns->itemAt(i)->layout());
        grid->setRowStretch(grid->rowCount(), 1);
    }
    return sheet;
}

} // namespace

KeySheet::KeySheet(std::vector<Section> sections, NavigationStyle wheel, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Keys"));
    Section mouse{tr("Mouse"), {}};
    for (const Gesture& g : kGestures)
        mouse.lines.push_back({tr(g.keys), tr(g.what), {}});
    if (wheel == NavigationStyle::tracy)
        std::swap(mouse.lines[0].what, mouse.lines[1].what);
    sections.insert(sections.begin() + 1, mouse);

    constexpr int kAround = 40, kMostColumns = 3;
    const QSize most = screen()->availableSize() - QSize(kAround, 2 * kAround);
    QWidget* sheet = nullptr;
    for (int columns = kMostColumns; columns > 0 && (sheet == nullptr || sheet->sizeHint().width() > most.width()); --columns) {
        delete sheet;
        sheet = sheetOf(sections, static_cast<std::size_t>(columns));
    }
    auto* area = new QScrollArea; // only where the screen is lower than the sheet
    area->setWidget(sheet);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto* frame = new QVBoxLayout(this);
    frame->setContentsMargins(0, 0, 0, 0);
    frame->addWidget(area);
    const int bar = sheet->sizeHint().height() > most.height() ? area->verticalScrollBar()->sizeHint().width() : 0;
    resize((sheet->sizeHint() + QSize(bar, 0)).boundedTo(most) + QSize(2, 2));
}

} // namespace app
