// What the window is working on: one scenario document, its history, its file. Qt Core and Gui only; no widgets.
#pragma once

#include "app/session/autosave.h"
#include "app/session/edit.h"
#include "app/session/failure.h"
#include "app/session/file_stamp.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <QUndoStack>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

class Session : public QObject {
    Q_OBJECT
public:
    /// An empty autosave folder: unsaved work is not kept.
    Session(sim::Catalogue catalogue, const QString& autosaveFolder, QObject* parent = nullptr);
    ~Session() override;

    const sim::Catalogue& catalogue() const { return m_catalogue; }
    bool isOpen() const { return m_document.has_value(); }
    const sim::ScenarioDocument& document() const { return *m_document; } ///< only if isOpen()
    /// The last legal state of this document; nullptr if it never had one.
    const sim::Scenario* scenario() const { return m_scenario ? &*m_scenario : nullptr; }
    /// The same; of a document that was never legal its own values with what they leave open filled in, to show and to repair,
    /// not to simulate. nullptr where they cannot be read.
    const sim::Scenario* shownValues() const { return m_scenario ? &*m_scenario : m_filledIn ? &*m_filledIn : nullptr; }
    /// Of the document as it is now, errors and warnings.
    const Problems& problems() const { return m_problems; }
    bool isLegal() const { return m_legal; }
    /// As it stands in its file, and what that means; nullptr where it never was in one, or is not legal there.
    const sim::ScenarioDocument* savedDocument() const { return m_saved ? &*m_saved : nullptr; }
    const sim::Scenario* savedScenario() const { return m_savedScenario ? &*m_savedScenario : nullptr; }
    QUndoStack& undoStack() { return m_undo; }
    const QUndoStack& undoStack() const { return m_undo; }
    /// Where the history stands: another number for each step, of the last one that is done; 0: of none. Indices of the stack
    /// stand still once it has as many steps as it keeps.
    quint64 placeInHistory() const;
    bool isModified() const { return isOpen() && !m_undo.isClean(); }
    /// Closing it loses what somebody did here: settings of another framework that nobody has changed since can be imported
    /// again.
    bool hasWork() const { return isModified() && !(m_isImported && m_undo.index() == 0); }
    QString path() const { return m_path; } ///< empty if never saved
    /// The scenario's name, else one made of its settings; what has changed since the file is said behind it.
    QString displayName() const;
    /// Nothing but names differs from what its description was written of; also where no file says.
    bool isAsDescribed() const;

    /// Opens a file, or a link, whose scenario then is in no file yet; overrides as of --set become the first undoable step. What
    /// is wrong comes back, and then nothing has changed. Where the file alone could be opened, problems name file and overrides.
    [[nodiscard]] Problems open(const QString& path, const QStringList& overrides = {});
    /// The same in two halves: the first takes long for large files, and may run on any thread.
    struct FileRead {
        QString path;
        QStringList overrides;
        std::optional<sim::ScenarioDocument> document, changed; ///< as it is in the file, and with the overrides
        sim::ScenarioDocument::Resolved resolved;               ///< of the document
        Problems problems;                                      ///< of what was to be opened
    };
    static FileRead read(const QString& path, const QStringList& overrides, const sim::Catalogue&);
    [[nodiscard]] Problems open(FileRead);
    /// "--set layout.tp=4 --set layout.pp=2"
    static QString overridesText(const QStringList& overrides);
    /// A document that is in no file yet.
    void startNew(const sim::ScenarioDocument&);
    /// The same, of settings of another framework.
    void startImported(const sim::ScenarioDocument&);
    /// A document that is somebody else's, such as a lesson's: in no file, and nothing to save until it is edited.
    void show(const sim::ScenarioDocument&);
    /// Takes up unsaved work again, even if it is not legal at the moment.
    [[nodiscard]] Problems recover(const Recovery&);
    /// Somebody else wrote the file since it was opened or saved here.
    bool isChangedOnDisk() const;
    [[nodiscard]] Problems save();
    /// In another folder, what it names beside it is named from there, in every step of the history.
    [[nodiscard]] Problems saveAs(const QString& path);
    /// Unsaved work is kept safe so long after a change.
    void setAutosaveDelay(int seconds);
    void keepSafe(); ///< at once
    void close();

    void edit(const Edit&);
    /// What is worked on, with its history, while documents of others are shown in its place.
    struct Aside;
    std::shared_ptr<const Aside> aside() const; ///< only if isOpen()
    /// It goes on where it was, in place of a document of the same job.
    void takeUp(const Aside&);
    /// Another document in place of this one, as one undoable step; the file stays the same.
    void replaceContent(const sim::ScenarioDocument&, const QString& stepText);

Q_SIGNALS:
    void opened();      ///< another document, or none
    void changed();     ///< the document's content; also after opened()
    void fileChanged(); ///< path or modified state
    void notKeptSafe(); ///< unsaved work cannot be written aside any more

private:
    class Step;
    void replace(std::optional<sim::ScenarioDocument>, const QString& path);
    void replace(std::optional<sim::ScenarioDocument>, const QString& path, sim::ScenarioDocument::Resolved);
    void push(const sim::ScenarioDocument& after, const Edit&);
    void forgetOldSteps();
    void moveHistory(const std::function<std::string(const std::string&)>& moved);
    /// False, and but for the problems everything is as it was, if it cannot be read.
    bool setText(const std::function<std::string()>& makeText);
    void refuse(const std::string& pointer);
    void setSaved(std::optional<sim::ScenarioDocument>);
    void take(sim::ScenarioDocument::Resolved);
    void discardRecovered();

    sim::Catalogue m_catalogue;
    std::optional<sim::ScenarioDocument> m_document;
    std::optional<sim::Scenario> m_scenario;
    std::optional<sim::Scenario> m_filledIn; ///< while it has not been legal
    std::optional<sim::ScenarioDocument> m_saved, m_shown;
    std::optional<sim::Scenario> m_savedScenario, m_shownScenario; ///< what its name says, too
    Problems m_problems;
    bool m_legal = false, m_isImported = false;
    QUndoStack m_undo;
    quint64 m_lastPlace = 0; ///< of the steps that were ever made
    QString m_path;
    FileStamp m_stamp; ///< of m_path, as it was opened or saved
    Autosave m_autosave;
    QString m_recovered; ///< the autosave that the work was restored from, until it is safe elsewhere
    bool m_isKeptSafe = true;
    QTimer m_autosaveTimer;
};

} // namespace app
