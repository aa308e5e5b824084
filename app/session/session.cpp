#include "app/session/session.h"

#include "app/session/scenario_link.h"
#include "app/session/scenario_name.h"
#include "sim/scenario/filled_in.h"
#include "sim/scenario/named_files.h"

#include <QFileInfo>
#include <QSignalBlocker>
#include <QUndoCommand>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

namespace app {
namespace {

constexpr int kAutosaveDelayMs = 1000;
constexpr int kUndoSteps = 500;
constexpr std::size_t kUndoBytes = 64U << 20U; ///< of all steps; beyond it the oldest are forgotten

bool hasError(const Problems& problems)
{
    return std::any_of(problems.begin(), problems.end(),
                       [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
}

/// The one place at which two texts differ.
struct TextChange {
    std::size_t at = 0;
    std::string removed, inserted;

    TextChange(const std::string& before, const std::string& after)
    {
        const auto [beforeEnd, afterEnd] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
        at = static_cast<std::size_t>(beforeEnd - before.begin());
        const std::size_t most = std::min(before.size(), after.size()) - at;
        std::size_t same = 0;
        while (same < most && before[before.size() - same - 1] == after[after.size() - same - 1])
            ++same;
        removed = before.substr(at, before.size() - same - at);
        inserted = after.substr(at, after.size() - same - at);
    }
    std::string done(std::string text) const { return text.replace(at, removed.size(), inserted); }
    std::string undone(std::string text) const { return text.replace(at, inserted.size(), removed); }
    bool isNothing() const { return removed == inserted; }
    std::size_t bytes() const { return removed.size() + inserted.size(); }
};

std::filesystem::path filePath(const QString& path)
{
    return std::filesystem::path(path.toStdU16String());
}

/// What a file holds now; nothing if it cannot be read.
std::optional<sim::ScenarioDocument> documentIn(const QString& path)
{
    std::optional<sim::ScenarioDocument> out;
    const Problems ignored = problemsOf(path, [&]() -> Problems {
        out = readDocument(path);
        return {};
    });
    return out;
}

} // namespace

/// The text that changed: undoing gives back exactly what was there, key order and shorthand included, and a step costs no more
/// than what it changed. A new one is done already.
class Session::Step : public QUndoCommand {
public:
    Step(Session& session, const sim::ScenarioDocument& after, const Edit& edit)
        : QUndoCommand(QString::fromStdString(edit.text)), m_session(session), m_change(session.m_document->text(), after.text()),
          m_gesture(edit.gesture), m_place(++session.m_lastPlace)
    {
        if (!edit.assignments.empty())
            m_pointer = edit.assignments.front().pointer;
        if (!session.m_legal)
            m_legalBefore = session.m_scenario;
    }
    /// The same step for a stack that begins later. Only the last one's gesture may still go on.
    Step(const Step& of, bool isLast)
        : QUndoCommand(of.text()), m_session(of.m_session), m_change(of.m_change), m_pointer(of.m_pointer),
          m_gesture(isLast ? of.m_gesture : 0), m_place(of.m_place), m_legalBefore(of.m_legalBefore)
    {
    }
    void undo() override
    {
        if (m_legalBefore && !m_isDone)
            m_session.m_scenario = m_legalBefore;
        take(&TextChange::undone, &QUndoStack::redo);
    }
    void redo() override { take(&TextChange::done, &QUndoStack::undo); }
    int id() const override { return m_gesture == 0 ? -1 : m_gesture; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto& later = static_cast<const Step&>(*other);
        if (later.m_pointer != m_pointer)
            return false;
        const std::string after = m_session.m_document->text();
        m_change = TextChange(m_change.undone(later.m_change.undone(after)), after);
        // "tp 2 → 4" and "tp 4 → 8" are "tp 2 → 8".
        const QString arrow = QStringLiteral(" → ");
        const auto begin = text().section(arrow, 0, 0);
        const auto end = later.text().section(arrow, 1);
        setText(begin + arrow + end);
        setObsolete(m_change.isNothing());
        return true;
    }
    std::string done(const std::string& text) const { return m_change.done(text); }
    std::string undone(const std::string& text) const { return m_change.undone(text); }
    void setTexts(const std::string& before, const std::string& after) { m_change = TextChange(before, after); }
    std::size_t bytes() const { return sizeof(Step) + m_change.bytes(); }
    quint64 place() const { return m_place; }
    void skipNext() { m_isDone = true; } ///< what the stack asks for next is so already

private:
    /// What cannot be taken leaves the text as it is, and the stack goes back to it.
    void take(std::string (TextChange::*changed)(std::string) const, void (QUndoStack::*back)())
    {
        if (std::exchange(m_isDone, false))
            return;
        m_isDone = !m_session.setText([&] { return (m_change.*changed)(m_session.m_document->text()); });
        if (m_isDone)
            QMetaObject::invokeMethod(&m_session.m_undo, back, Qt::QueuedConnection);
    }

    Session& m_session;
    TextChange m_change;
    std::string m_pointer;
    int m_gesture;
    quint64 m_place;
    std::optional<sim::Scenario> m_legalBefore; ///< where the step is from what was refused: what was shown then
    bool m_isDone = true;                       ///< when the stack asks for it next
};

struct Session::Aside {
    sim::ScenarioDocument document;
    std::optional<sim::Scenario> scenario, savedScenario, shownScenario;
    std::optional<sim::ScenarioDocument> saved, shown;
    Problems problems;
    bool isLegal = false;
    QString path;
    FileStamp stamp;
    std::vector<std::unique_ptr<const Step>> steps;
    int index = 0, cleanIndex = 0;
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
    if (!m_scenario && m_path.isEmpty())
        return m_filledIn && !m_filledIn->name.empty() ? nameOf(*m_filledIn) : QStringLiteral("Untitled");
    if (!m_scenario)
        return QFileInfo(m_path).completeBaseName();
    const std::optional<sim::Scenario>& named = m_savedScenario ? m_savedScenario : m_shownScenario;
    return named ? shownName({*m_document, *m_scenario}, {m_savedScenario ? *m_saved : *m_shown, *named}) : nameOf(*m_scenario);
}

quint64 Session::placeInHistory() const
{
    const QUndoCommand* last = m_undo.command(m_undo.index() - 1);
    return last != nullptr ? static_cast<const Step*>(last)->place() : 0;
}

bool Session::isAsDescribed() const
{
    const std::optional<sim::Scenario>& written = m_savedScenario ? m_savedScenario : m_shownScenario;
    return !m_scenario || !written || written->description != m_scenario->description ||
           changedSettings({*m_document, *m_scenario}, {m_savedScenario ? *m_saved : *m_shown, *written}).isEmpty();
}

QString Session::overridesText(const QStringList& overrides)
{
    return overrides.isEmpty() ? QString() : QStringLiteral("--set ") + overrides.join(QStringLiteral(" --set "));
}

Problems Session::open(const QString& path, const QStringList& overrides)
{
    return open(read(path, overrides, m_catalogue));
}

Session::FileRead Session::read(const QString& path, const QStringList& overrides, const sim::Catalogue& catalogue)
{
    FileRead out{.path = path, .overrides = overrides, .document = {}, .changed = {}, .resolved = {}, .problems = {}};
    const QString shown = isScenarioLink(path) ? shortLink(path) : path;
    out.problems = problemsOf(shown, [&]() -> Problems {
        sim::ScenarioDocument document = readDocument(path);
        sim::ScenarioDocument changed = document;
        out.resolved = document.resolve(catalogue);
        Problems problems = problemsOf({}, [&]() -> Problems {
            for (const QString& assignment : overrides)
                changed.applyOverride(assignment.toStdString(), catalogue);
            auto resolved = overrides.isEmpty() ? out.resolved : changed.resolve(catalogue);
            return resolved.scenario ? Problems() : std::move(resolved.problems);
        });
        if (!problems.empty() && !overrides.isEmpty() && out.resolved.scenario)
            for (sim::Problem& problem : problems)
                problem.file = (shown + QLatin1Char(' ') + overridesText(overrides)).toStdString();
        if (problems.empty()) {
            out.document = std::move(document);
            out.changed = std::move(changed);
        }
        return problems;
    });
    return out;
}

Problems Session::open(FileRead file)
{
    if (!file.document)
        return std::move(file.problems);
    return problemsOf(file.path, [&]() -> Problems {
        if (isScenarioLink(file.path))
            startNew(*file.document);
        else
            replace(std::move(file.document), QFileInfo(file.path).absoluteFilePath(), std::move(file.resolved));
        if (!file.overrides.isEmpty())
            push(*file.changed, Edit{{}, overridesText(file.overrides).toStdString(), 0});
        return {};
    });
}

Problems Session::recover(const Recovery& recovery)
{
    return problemsOf(recovery.path, [&]() -> Problems {
        auto document = sim::ScenarioDocument::parse(recovery.text.toStdString(), recovery.path.toStdString());
        const auto tried = document.resolve(m_catalogue); // whatever it throws, it throws before anything has changed
        replace(std::move(document), recovery.path);
        m_stamp = recovery.stamp; // whoever wrote the file since wrote another than the work was begun with
        m_undo.resetClean();
        setSaved(documentIn(recovery.path));
        Q_EMIT fileChanged();
        m_recovered = recovery.autosaveFile;
        keepSafe();
        return {};
    });
}

void Session::startNew(const sim::ScenarioDocument& document)
{
    replace(document, {});
    m_undo.resetClean(); // it is in no file
    setSaved(std::nullopt);
    Q_EMIT fileChanged();
    keepSafe();
}

void Session::startImported(const sim::ScenarioDocument& document)
{
    startNew(document);
    m_isImported = true;
}

void Session::show(const sim::ScenarioDocument& document)
{
    replace(document, {});
    setSaved(std::nullopt);
    m_shown = m_document;
    m_shownScenario = m_scenario;
    Q_EMIT fileChanged();
}

bool Session::isChangedOnDisk() const
{
    return QFileInfo::exists(m_path) && FileStamp::of(m_path) != m_stamp;
}

Problems Session::save()
{
    return saveAs(m_path);
}

Problems Session::saveAs(const QString& path)
{
    if (!isOpen() || path.isEmpty())
        return {{{}, {}, "there is no file to save to", sim::Severity::error}};
    const QString whole = QFileInfo(path).absoluteFilePath();
    const auto moved = [&, from = m_document->fileName()](const std::string& text) {
        return sim::movedTo(whole.toStdString(), sim::ScenarioDocument::parse(text, from), m_catalogue).text();
    };
    std::optional<sim::ScenarioDocument> there;
    if (const Problems problems = problemsOf(path,
                                             [&]() -> Problems {
                                                 there = sim::movedTo(whole.toStdString(), *m_document, m_catalogue);
                                                 there->saveFile(filePath(path));
                                                 return {};
                                             });
        !problems.empty())
        return problems;
    const bool isOther = there->text() != m_document->text();
    if (isOther)
        moveHistory(moved);
    m_path = whole;
    m_stamp = FileStamp::of(m_path);
    m_document = std::move(there);
    if (isOther)
        take(m_document->resolve(m_catalogue));
    setSaved(m_document);
    m_isImported = false;
    m_undo.setClean();
    m_autosaveTimer.stop();
    m_autosave.remove();
    discardRecovered();
    Q_EMIT fileChanged();
    if (isOther)
        Q_EMIT changed();
    return {};
}

/// Each step is then between the texts that it was between, moved. What cannot be read now stays as it was.
void Session::moveHistory(const std::function<std::string(const std::string&)>& moved)
{
    const auto from = [&](const std::string& text) {
        std::string out = text;
        const Problems ignored = problemsOf({}, [&]() -> Problems {
            out = moved(text);
            return {};
        });
        return out;
    };
    const auto stepAt = [this](int index) { return const_cast<Step*>(static_cast<const Step*>(m_undo.command(index))); };
    for (const bool isForward : {false, true}) {
        std::string text = m_document->text(), there = from(text);
        const int end = isForward ? m_undo.count() : -1, towards = isForward ? 1 : -1;
        for (int index = isForward ? m_undo.index() : m_undo.index() - 1; index != end; index += towards) {
            Step& step = *stepAt(index);
            text = isForward ? step.done(text) : step.undone(text);
            const std::string next = from(text);
            isForward ? step.setTexts(there, next) : step.setTexts(next, there);
            there = next;
        }
    }
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
    } catch (...) {
        refuse(edit.assignments.empty() ? std::string{} : edit.assignments.front().pointer);
        return;
    }
    if (after.text() != m_document->text())
        push(after, edit);
}

void Session::replaceContent(const sim::ScenarioDocument& content, const QString& stepText)
{
    if (isOpen() && content.text() != m_document->text())
        push(content, Edit{{}, stepText.toStdString(), 0});
}

std::shared_ptr<const Session::Aside> Session::aside() const
{
    auto aside = std::make_shared<Aside>(Aside{.document = *m_document,
                                               .scenario = m_scenario,
                                               .savedScenario = m_savedScenario,
                                               .shownScenario = m_shownScenario,
                                               .saved = m_saved,
                                               .shown = m_shown,
                                               .problems = m_problems,
                                               .isLegal = m_legal,
                                               .path = m_path,
                                               .stamp = m_stamp,
                                               .steps = {},
                                               .index = m_undo.index(),
                                               .cleanIndex = m_undo.cleanIndex()});
    for (int i = 0; i < m_undo.count(); ++i)
        aside->steps.push_back(std::make_unique<const Step>(*static_cast<const Step*>(m_undo.command(i)), false));
    return aside;
}

void Session::takeUp(const Aside& aside)
{
    m_document = aside.document;
    m_scenario = aside.scenario;
    m_saved = aside.saved;
    m_savedScenario = aside.savedScenario;
    m_shown = aside.shown;
    m_shownScenario = aside.shownScenario;
    m_problems = aside.problems;
    m_legal = aside.isLegal;
    m_path = aside.path;
    m_stamp = aside.stamp;
    {
        const QSignalBlocker quiet(m_undo);
        m_undo.clear();
        m_undo.resetClean();
        const auto markClean = [&] {
            if (m_undo.index() == aside.cleanIndex)
                m_undo.setClean();
        };
        markClean();
        std::vector<Step*> undone;
        for (const auto& step : aside.steps) {
            auto again = std::make_unique<Step>(*step, false);
            if (m_undo.index() >= aside.index)
                undone.push_back(again.get());
            m_undo.push(again.release());
            markClean();
        }
        for (Step* step : undone)
            step->skipNext();
        m_undo.setIndex(aside.index);
    }
    Q_EMIT m_undo.indexChanged(m_undo.index());
    Q_EMIT fileChanged();
    Q_EMIT changed();
    keepSafe();
}

/// In a catch block: what was to be changed there cannot be.
void Session::refuse(const std::string& pointer)
{
    m_problems = {{{}, pointer, failureText(), sim::Severity::error}};
    m_legal = false;
    Q_EMIT changed();
}

void Session::push(const sim::ScenarioDocument& after, const Edit& edit)
{
    auto step = std::make_unique<Step>(*this, after, edit);
    if (!setText([&] { return after.text(); }))
        return;
    m_undo.push(step.release());
    std::size_t bytes = 0;
    for (int i = 0; i < m_undo.count(); ++i)
        bytes += static_cast<const Step*>(m_undo.command(i))->bytes();
    if (bytes > kUndoBytes)
        forgetOldSteps();
}

/// Keeps the newest steps that take up to half of what is allowed, and the very last in any case.
void Session::forgetOldSteps()
{
    std::vector<Step*> kept; // the newest first
    std::size_t bytes = 0;
    for (int i = m_undo.count() - 1; i >= 0; --i) {
        const auto& step = *static_cast<const Step*>(m_undo.command(i));
        bytes += step.bytes();
        if (!kept.empty() && bytes > kUndoBytes / 2)
            break;
        kept.push_back(new Step(step, kept.empty()));
    }
    const int forgotten = m_undo.count() - static_cast<int>(kept.size()), clean = m_undo.cleanIndex() - forgotten;
    {
        const QSignalBlocker quiet(m_undo); // for others it is the same history
        m_undo.clear();
        m_undo.resetClean();
        for (auto step = kept.rbegin(); step != kept.rend(); ++step) {
            if (m_undo.index() == clean)
                m_undo.setClean();
            m_undo.push(*step);
        }
    }
    Q_EMIT m_undo.indexChanged(m_undo.index());
}

void Session::replace(std::optional<sim::ScenarioDocument> document, const QString& path)
{
    auto resolved = document ? document->resolve(m_catalogue) : sim::ScenarioDocument::Resolved();
    replace(std::move(document), path, std::move(resolved));
}

void Session::replace(std::optional<sim::ScenarioDocument> document, const QString& path,
                      sim::ScenarioDocument::Resolved resolved)
{
    m_autosaveTimer.stop();
    m_autosave.remove();
    m_recovered.clear();
    m_undo.clear();
    m_undo.setClean();
    m_document = std::move(document);
    m_scenario.reset();
    m_filledIn.reset();
    m_isImported = false;
    m_path = path;
    m_stamp = FileStamp::of(path);
    m_saved = m_document;
    m_savedScenario = resolved.scenario;
    m_shown.reset();
    m_shownScenario.reset();
    take(std::move(resolved));
    Q_EMIT opened();
    Q_EMIT fileChanged();
    Q_EMIT changed();
}

bool Session::setText(const std::function<std::string()>& makeText)
{
    try {
        auto document = sim::ScenarioDocument::parse(makeText(), m_document->fileName());
        auto resolved = document.resolve(m_catalogue);
        m_document = std::move(document);
        take(std::move(resolved));
    } catch (...) {
        refuse({});
        return false;
    }
    if (!m_autosaveTimer.isActive()) // else work without a pause would never be kept safe
        m_autosaveTimer.start();
    Q_EMIT changed();
    return true;
}

void Session::setSaved(std::optional<sim::ScenarioDocument> document)
{
    m_saved = std::move(document);
    m_savedScenario.reset();
    if (m_saved)
        m_savedScenario = m_saved->resolve(m_catalogue).scenario;
}

/// What the document means now.
void Session::take(sim::ScenarioDocument::Resolved resolved)
{
    m_problems = std::move(resolved.problems);
    m_legal = resolved.scenario.has_value() && !hasError(m_problems);
    if (m_legal)
        m_scenario = std::move(resolved.scenario);
    if (m_scenario)
        m_filledIn.reset();
    else if (m_document)
        m_filledIn = sim::filledIn(*m_document, m_catalogue);
}

void Session::keepSafe()
{
    if (!isModified())
        return m_autosave.remove();
    const bool wasKept =
        std::exchange(m_isKeptSafe, m_autosave.write(m_path, m_stamp, displayName(), QString::fromStdString(m_document->text())));
    if (m_isKeptSafe)
        discardRecovered();
    if (m_autosave.isOn() && wasKept && !m_isKeptSafe)
        Q_EMIT notKeptSafe();
}

/// What was restored is in a place of this window's own by now.
void Session::discardRecovered()
{
    if (!m_recovered.isEmpty())
        Autosave::discard(std::exchange(m_recovered, {}));
}

} // namespace app
