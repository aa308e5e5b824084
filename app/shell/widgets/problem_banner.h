// What went wrong with a file or a command, in full, above the pictures: stays until it is dismissed or the next file opens.
#pragma once

#include "app/session/session.h"

#include <QFrame>

class QLabel;
class QScrollArea;

namespace app {

class ProblemBanner : public QFrame {
    Q_OBJECT
public:
    explicit ProblemBanner(QWidget* parent = nullptr);
    /// `title` says what did not work; every problem has a line of its own below it.
    void tell(const QString& title, const Problems&);
    void dismiss();
    /// Where it is this title that stands there.
    void dismiss(const QString& title);
    QString text() const { return m_text; } ///< as it is copied: title and problems, a line each

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void fitHeight();

    QLabel *m_title, *m_list;
    QScrollArea* m_area;
    QString m_text;
};

} // namespace app
