// All keys on one sheet: those of the commands, and what the mouse does in the pictures.
#pragma once

#include "app/session/settings.h"

#include <QDialog>
#include <QString>

#include <vector>

namespace app {

class KeySheet : public QDialog {
    Q_OBJECT
public:
    /// A heading and its lines: what stays together in a column.
    struct Section {
        QString title;
        struct Line {
            QString keys, text, what;
        };
        std::vector<Line> lines;
    };
    KeySheet(std::vector<Section> sections, NavigationStyle, QWidget* parent = nullptr); ///< the mouse comes after the first
};

} // namespace app
