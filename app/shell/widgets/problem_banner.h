// What went wrong with a file or a command, in full, above the pictures: stays until it is dismissed or the next file opens.
#pragma once

#include "app/session/session.h"

#include <QFrame>

class QLabel;
class QPushButton;
class QScrollArea;

namespace app {

class ProblemBanner : public QFrame {
    Q_OBJECT
public:
    explicit ProblemBanner(QWidget* parent = nullptr);
    /// `title` says what did not work; every problem has a line of its own below it.
    void tell(const QString& title, const Problems&);
    /// Of a file that could not be opened, once it is told: it can be read anew, or mended. `settings`: of the command line,
    /// which are to blame.
    void offerFile(const QString& path, const QString& settings);
    void dismiss();
    /// Where it is this title that stands there.
    void dismiss(const QString& title);
    QString text() const { return m_text; } ///< as it is copied: title and problems, a line each

Q_SIGNALS:
    void openRequested(const QString& path);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void fitHeight();

    QLabel *m_title, *m_list;
    QPushButton *m_again, *m_edit;
    QScrollArea* m_area;
    QString m_text, m_path;
};

} // namespace app
