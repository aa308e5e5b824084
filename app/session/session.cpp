#include "app/session/session.h"

#include <QFileInfo>
#include <QUndoCommand>

#include <algorithm>

namespace app {
namespace {

constexpr int kAutosaveDelayMs = 1000;
constexpr int kUndoSteps = 500;

bool hasError(const Problems& problems)
{
    return std::any_of(problems.begin(), problems.end(),
                       [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
}

std::filesystem::path filePath(const QString& path)
{
    return std::filesystem::path(path.toStdU16String());
}

/// What a file holds now; nothing if it cannot be read.
std::optional<sim::ScenarioDocument> documentIn(const QString& path)
{
    try {
        return sim::ScenarioDocument::readFile(filePath(path));
    } catch (const sim::Error&) {
        return std::nullopt;
    }
}

} // namespace

/// Whole documents before and after: undoing gives back exactly what was there, key order and shorthand included.
class Session::Step : public QUndoCommand {
public:
    Step(Session& session, sim::ScenarioDocument after, const Edit& edit)
        : QUndoCommand(QString::fromStdString(edit.text)), m_session(session), m_before(*session.m_document),
          m_after(std::move(after)), m_gesture(edit.gesture)
    {
        if (!edit.assignments.empty())
            m_pointer = edit.assignments.front().pointer;
    }
    void undo() override { m_session.setDocument(m_before); }
    void redo() override { m_session.setDocument(m_after); }
    int id() const override { return m_gesture == 0 ? -1 : m_gesture; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto& later = static_cast<const Step&>(*other);
        if (later.m_pointer != m_pointer)
            return false;
        m_after = later.m_after;
        // "tp 2 → 4" and "tp 4 → 8" are "tp 2 → 8".
        const QString arrow = QStringLiteral(" → ");
        const auto begin = text().section(arrow, 0, 0);
        const auto end = later.text().section(arrow, 1);
        setText(begin + arrow + end);
        setObsolete(m_before.text() == m_after.text());
        return true;
    }

private:
    Session& m_session;
    sim::ScenarioDocument m_before, m_after;
    std::string m_pointer;
    int m_gesture;
};

Session::Session(sim::Catalogue catalogue, const QString& autosaveFolder, QObject* parent)
    : QObject(parent), m_catalogue(std::move(catalogue)), m_autosave(autosaveFolder)
{
    m_undo.setUndoLimit(kUndoSteps);
    m_autosaveTimer.setSingleShot(true);
    m_autosaveTimer.setInterval(kAutosaveDelayMs);
    connect(&m_autosaveTimer, &QTimer::timeout, this, &Session::keepSafe);
    connect(&m_undo, &QUndoStack::cleanChanged, this, &Session::fileChanged);
}

Session::~Session()
{
    m_undo.disconnect(this); // it speaks once more while it goes away
}

QString Session::displayName() const
{
    if (!isOpen())
        return {};
    if (m_scenario && !m_scenario->name.empty())
        return QString::fromStdString(m_scenario->name);
    return m_path.isEmpty() ? QStringLiteral("Untitled") : QFileInfo(m_path).completeBaseName();
}

Problems Session::open(const QString& path, const QStringList& overrides)
{
    try {
        sim::ScenarioDocument document = sim::ScenarioDocument::readFile(filePath(path));
        sim::ScenarioDocument changed = document;
        for (const QString& assignment : overrides)
            changed.applyOverride(assignment.toStdString());
        auto resolved = changed.resolve(m_catalogue);
        if (!resolved.scenario)
            return std::move(resolved.problems);
        replace(std::move(document), QFileInfo(path).absoluteFilePath());
        if (!overrides.isEmpty())
            m_undo.push(new Step(*this, std::move(changed),
                                 Edit{{}, "--set " + overrides.join(QStringLiteral(" --set ")).toStdString(), 0}));
        return {};
    } catch (const sim::ScenarioError& error) {
        return error.problems();
    } catch (const sim::Error& error) {
        return {{path.toStdString(), {}, error.what(), sim::Severity::error}};
    }
}

Problems Session::recover(const Recovery& recovery)
{
    try {
        replace(sim::ScenarioDocument::parse(recovery.text.toStdString(), recovery.path.toStdString()), recovery.path);
        m_undo.resetClean();
        setSaved(documentIn(recovery.path));
        emit fileChanged();
        keepSafe();
        Autosave::discard(recovery);
        return {};
    } catch (const sim::ScenarioError& error) {
        return error.problems();
    }
}

Problems Session::save()
{
    return saveAs(m_path);
}

Problems Session::saveAs(const QString& path)
{
    if (!isOpen() || path.isEmpty())
        return {{{}, {}, "there is no file to save to", sim::Severity::error}};
    try {
        m_document->saveFile(filePath(path));
    } catch (const sim::Error& error) {
        return {{path.toStdString(), {}, error.what(), sim::Severity::error}};
    }
    m_path = QFileInfo(path).absoluteFilePath();
    m_document->setFileName(m_path.toStdString());
    setSaved(m_document);
    m_undo.setClean();
    m_autosaveTimer.stop();
    m_autosave.remove();
    emit fileChanged();
    return {};
}

void Session::setAutosaveDelay(int seconds)
{
    m_autosaveTimer.setInterval(seconds * 1000);
}

void Session::close()
{
    if (isOpen())
        replace(std::nullopt, {});
}

void Session::edit(const Edit& edit)
{
    if (!isOpen())
        return;
    sim::ScenarioDocument after = *m_document;
    try {
        apply(after, edit);
    } catch (const sim::Error& error) {
        m_problems = {{{},
                       edit.assignments.empty() ? std::string{} : edit.assignments.front().pointer,
                       error.what(),
                       sim::Severity::error}};
        m_legal = false;
        emit changed();
        return;
    }
    if (after.text() != m_document->text())
        m_undo.push(new Step(*this, std::move(after), edit));
}

void Session::replaceContent(const sim::ScenarioDocument& content, const QString& stepText)
{
    if (!isOpen() || content.text() == m_document->text())
        return;
    sim::ScenarioDocument after = content;
    after.setFileName(m_document->fileName());
    m_undo.push(new Step(*this, std::move(after), Edit{{}, stepText.toStdString(), 0}));
}

void Session::replace(std::optional<sim::ScenarioDocument> document, const QString& path)
{
    m_autosaveTimer.stop();
    m_autosave.remove();
    m_undo.clear();
    m_undo.setClean();
    m_document = std::move(document);
    m_scenario.reset();
    m_path = path;
    resolve();
    setSaved(m_document);
    emit opened();
    emit fileChanged();
    emit changed();
}

void Session::setDocument(const sim::ScenarioDocument& document)
{
    m_document = document;
    resolve();
    m_autosaveTimer.start();
    emit changed();
}

void Session::setSaved(std::optional<sim::ScenarioDocument> document)
{
    m_saved = std::move(document);
    m_savedScenario.reset();
    if (m_saved)
        m_savedScenario = m_saved->resolve(m_catalogue).scenario;
}

void Session::resolve()
{
    m_problems.clear();
    m_legal = false;
    if (!m_document)
        return;
    auto resolved = m_document->resolve(m_catalogue);
    m_problems = std::move(resolved.problems);
    m_legal = resolved.scenario.has_value() && !hasError(m_problems);
    if (m_legal)
        m_scenario = std::move(resolved.scenario);
}

void Session::keepSafe()
{
    if (isModified())
        m_autosave.write(m_path, QString::fromStdString(m_document->text()));
    else
        m_autosave.remove();
}

} // namespace app
