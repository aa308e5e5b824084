// All keys on one sheet, from the command table.
#pragma once

#include <QDialog>

namespace app {

class KeySheet : public QDialog {
    Q_OBJECT
public:
    explicit KeySheet(QWidget* parent = nullptr);
};

} // namespace app
