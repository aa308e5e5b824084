// What who presents sees and nobody else: the slide's notes, what comes next, how long it has taken. Keys go to the presentation.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

class QLabel;
class QTextBrowser;

namespace app {

class Presentation;

class NotesWindow : public QWidget {
    Q_OBJECT
public:
    /// Belongs to the presentation, which must outlive it; closed, it is deleted.
    explicit NotesWindow(Presentation&);
    void tell(const QString& place, const QString& notesMarkdown, const QString& next);
    QString text() const; ///< as shown, for tests

protected:
    void keyPressEvent(QKeyEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void tellTime();
    Presentation& m_presentation;
    QLabel *m_place, *m_time, *m_next;
    QTextBrowser* m_notes;
    QElapsedTimer m_since;
    QTimer m_tick;
};

} // namespace app
