// Records a lesson from the window: put it as wanted, say what is to be seen, add the step. Stands beside the window, which goes
// on working.
#pragma once

#include "app/session/worker.h"
#include "sim/lesson/recording.h"
#include "sim/scenario/catalogue.h"

#include <QDialog>
#include <QPointer>

#include <functional>
#include <optional>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;

namespace app {

class RecordWindow : public QDialog {
    Q_OBJECT
public:
    struct Now {
        sim::ScenarioDocument shown;
        sim::LessonValue view;
    };
    /// `now`: what the window shows, or nothing while it shows no scenario that can run.
    RecordWindow(const sim::Catalogue&, std::function<std::optional<Now>()> now, QWidget* parent = nullptr);

    const sim::LessonRecording& recording() const { return m_recording; }
    bool hasUnsaved() const { return m_isUnsaved || hasTyped(); } ///< steps, or words that are of none yet
    bool isChecking() const { return m_isChecking; }              ///< on a thread of its own; nothing can be changed meanwhile
    QString told() const;                                         ///< what is wrong, or that all is right

public Q_SLOTS:
    void addStep();
    void removeStep();
    /// The chosen step into the fields, to be changed; again: it stays as it was.
    void editStep();
    void moveStep(int by);
    /// Written when it is checked: saved() is emitted then. What is written passes `lesson check`, or its problems are told.
    void saveTo(const QString& path);

Q_SIGNALS:
    void saved(const QString& path);

protected:
    void closeEvent(QCloseEvent*) override;
    void reject() override;

private:
    bool mayLose();
    bool hasTyped() const;
    void chooseFile();
    void listSteps();
    void tell(const QString&);
    void updateButtons();
    /// For a new step: empty, or as it was left half typed to change another.
    void clearFields();
    void take(const sim::LessonRecording& next, std::size_t place, const QString& wrong);
    void setChecking(bool);
    struct Written {
        bool isWritten = false;
        QString told;
    };
    static Written write(const sim::LessonRecording&, const QString& path, const sim::Catalogue&);
    const sim::Catalogue& m_catalogue;
    const std::function<std::optional<Now>()> m_now;
    sim::LessonRecording m_recording;
    bool m_isUnsaved = false, m_isChecking = false;
    QLineEdit *m_title, *m_breaks, *m_ask;
    QListWidget* m_steps;
    QPlainTextEdit *m_say, *m_notes;
    QComboBox *m_metric, *m_kind;
    QPushButton *m_add, *m_edit, *m_remove, *m_up, *m_down, *m_save;
    QCheckBox* m_anew;
    std::optional<std::size_t> m_edited; ///< step in the fields
    struct Draft {
        QString say, notes, ask;
        int metric = 0, kind = 0;
    };
    Draft m_draft; ///< of a new step, while another is in the fields
    QLabel* m_told;
    QPointer<QWidget> m_focused; ///< before the check
    Worker m_worker;             ///< last: ends before what it uses
};

} // namespace app
