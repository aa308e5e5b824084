#include "app/shell/dialogs/key_sheet.h"

#include "app/shell/widgets/style.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QScreen>
#include <QScrollArea>
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

    auto* sheet = new QWidget;
    auto* columns = new QHBoxLayout(sheet);
    columns->setContentsMargins(24, 24, 24, 24);
    columns->setSpacing(40);
    // In columns that are about equally high.
    constexpr std::size_t kColumns = 3;
    std::size_t all = 0;
    for (const Section& section : sections)
        all += heightOf(section);
    QGridLayout* column = nullptr;
    std::size_t placed = 0, begun = 0;
    for (const Section& section : sections) {
        if (!column || (placed + heightOf(section) / 2 > all * begun / kColumns && begun < kColumns)) {
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
