// In place of a scenario that cannot be opened, while there is none to go on with: which file, everything that is wrong with it
// and where, and what one can do about it.
#pragma once

#include "app/session/failure.h"

#include <QFrame>
#include <QString>

class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace app {

class ProblemPage : public QFrame {
    Q_OBJECT
public:
    explicit ProblemPage(QWidget* parent = nullptr);
    /// `settings`: what of the command line is to blame, as in "--set layout.tp=3"; empty where the file is.
    void setProblems(const QString& path, const Problems&, const QString& settings = {});
    QString path() const { return m_path; }
    QString text() const { return m_text; } ///< as it is copied: file and problems, a line each

Q_SIGNALS:
    void openRequested(const QString& path); ///< the same file once more
    void openOtherRequested();
    void galleryRequested();

private:
    void edit();

    QString m_path, m_text;
    QLabel *m_title, *m_where, *m_count;
    QPushButton *m_again, *m_edit;
    QVBoxLayout* m_list;
    QScrollArea* m_area;
};

} // namespace app
