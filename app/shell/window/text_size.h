// Text, controls and pictures as large as the user wants them: at once, in every window, with nothing started anew.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>

class QScreen;
class QWidget;

namespace app {

class TextSize : public QObject {
    Q_OBJECT
public:
    explicit TextSize(QObject* parent = nullptr);
    ~TextSize() override; ///< as it was before

    int percent() const { return m_percent; }
    /// Windows keep their pixels: what is in them is laid out anew.
    void set(int percent);

private:
    void apply(QScreen*);

    QHash<QString, double> m_usual; ///< [screen's name] what the desktop wants of it
    int m_percent = 100;
};

/// The next size that is offered, `direction` steps larger or smaller; the same at the ends.
int nextTextSize(int percent, int direction);

} // namespace app
