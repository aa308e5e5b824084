#include "app/session/desk.h"

#include "sim/analysis/whole_run.h"

#include <memory>
#include <utility>

namespace app {
namespace {

/// Kinds of jobs, the most urgent first.
enum Kind : int { kStep, kKernels, kSeenPicture, kCandidates, kLegalValues, kUnseenPicture, kExpected, kFindings, kEdits };

/// Pictures are dropped one by one.
int kindOf(Kind kind, std::size_t picture = 0)
{
    constexpr int kMostPictures = 64;
    return kind * kMostPictures + static_cast<int>(picture);
}

/// Beyond that, a row a rank is neither seen nor waited for.
constexpr int kMostRows = 512;

/// Of the history, with their numbers; the oldest are forgotten, as its own steps are.
constexpr std::size_t kPlacesKept = 500;

/// What decides the step. A view with thousands of marks would be copied with each value and each edit that is tried.
sim::ScenarioDocument withoutView(sim::ScenarioDocument document)
{
    document.erase("/view");
    return document;
}

sim::WholeRun lastingRunOf(const sim::Simulation& simulation)
{
    return sim::lastingRun(simulation, sim::tokensToTell(simulation.scenario()));
}

} // namespace

Desk::Desk(sim::Catalogue catalogue, const QString& autosaveFolder, std::vector<PrepareFunction> prepare,
           SimulateFunction simulate, QObject* parent)
    : QObject(parent), m_prepare(std::move(prepare)), m_simulate(std::move(simulate)),
      m_session(std::move(catalogue), autosaveFolder),
      m_models(m_prepare.size(), Model{.isReady = true, .model = {}, .failure = {}}), m_isSeen(m_prepare.size(), false)
{
    connect(&m_session, &Session::opened, this, &Desk::forget);
    connect(&m_session, &Session::changed, this, &Desk::sessionChanged);
    connect(&m_session.undoStack(), &QUndoStack::indexChanged, this, [this] {
        const quint64 place = m_session.placeInHistory();
        if (place == m_historyPlace) // moves of one drag merge into one step and keep what they are compared to
            return;
        const auto left = m_simulatedAt.find(m_historyPlace);
        const bool isKnown = left != m_simulatedAt.end() && m_requestedBefore == left->second.scenario;
        m_beforeLastChange = isKnown ? std::optional(left->second) : std::nullopt;
        m_historyPlace = place;
    });
    connect(&m_baseline, &Baseline::changed, this, [this] {
        if (!m_baseline.isPinned())
            m_lineup.clear();
        Q_EMIT comparedToChanged();
        settleIfDone();
    });
    connect(&m_lineup, &Lineup::changed, this, &Desk::settleIfDone);
    connect(&m_playback, &Playback::moved, this, &Desk::setCursor);
}

Desk::~Desk()
{
    // Parts go before what they refer to, and nobody tells anybody about it.
    m_worker.stop();
    m_session.disconnect(this);
    m_session.undoStack().disconnect(this);
    m_baseline.disconnect(this);
    m_lineup.disconnect(this);
    m_playback.disconnect(this);
}

void Desk::forget()
{
    m_worker.dropAll();
    m_awaits = {};
    m_requested.reset();
    m_findingsOf.reset();
    m_requestedDocument.reset();
    m_documentOfStep.reset();
    m_requestedBefore.reset();
    m_beforeLastChange.reset();
    m_simulatedAt.clear();
    m_playback.pause();
    m_selection = {.asksForSlice = m_selection.asksForSlice, .marked = {}, .asksForRanks = m_selection.asksForRanks};
    m_toldSelection = m_selection;
    m_zoom = {};
    m_actions = {};
    m_goodput.reset();
    show({}, std::vector<Model>(m_models.size()));
    sayWhyNoStep(tr("The scenario has problems; its form says which."));
    Q_EMIT opened();
}

void Desk::sessionChanged()
{
    m_requestedBefore = m_requested;
    if (m_session.isLegal() && m_requested != *m_session.scenario()) {
        m_requested = *m_session.scenario();
        m_requestedDocument = std::make_shared<const sim::ScenarioDocument>(withoutView(m_session.document()));
        this->simulate();
    } else if (!m_awaits.step && simulation() && m_findingsOf != simulation()) { // it came while the document was illegal
        requestFindings();
    }
    requestLegalValues();
    settleIfDone();
}

void Desk::sayWhyNoStep(const QString& why)
{
    m_whyNoStep = why;
    Q_EMIT waits();
}

/// Nobody wants them any more when there is another step.
void Desk::dropOfStep()
{
    if (m_awaits.findings || m_awaits.edits > 0)
        m_findingsOf.reset(); // of a step that may yet stay
    for (const Kind kind : {kStep, kKernels, kFindings, kEdits})
        m_worker.drop(kindOf(kind));
    for (std::size_t picture = 0; picture < m_models.size(); ++picture) {
        m_worker.drop(kindOf(kSeenPicture, picture));
        m_worker.drop(kindOf(kUnseenPicture, picture));
    }
}

void Desk::simulate()
{
    dropOfStep();
    m_awaits.kernels = m_awaits.findings = false;
    m_awaits.edits = 0;
    m_awaits.step = true;
    const bool everyRank = m_wantsEveryRank && canShowEveryRank();
    m_worker.ask(
        kindOf(kStep),
        [simulate = m_simulate, scenario = *m_requested, everyRank, prepare = prepareSeen(),
         expected = takeExpected(*m_requested, everyRank)] {
            if (expected)
                return *expected;
            const ShownStep step = makeStep(simulate, scenario, everyRank);
            return MadeStep{.step = step, .models = prepare(step), .goodput = sim::goodput(*step.simulation)};
        },
        [this, document = m_requestedDocument](const MadeStep& made) {
            m_awaits.step = false;
            m_actions = made.step;
            m_documentOfStep = document;
            m_goodput = made.goodput;
            show(m_actions, made.models);
            m_simulatedAt.insert_or_assign(m_historyPlace, Numbers(*simulation()));
            if (m_simulatedAt.size() > kPlacesKept)
                m_simulatedAt.erase(m_simulatedAt.begin());
            Q_EMIT stepChanged();
            requestFindings();
            if (m_wantsKernels)
                requestKernels();
            Q_EMIT waits();
            settleIfDone();
        },
        [this](const QString& why) {
            m_awaits.step = false;
            m_requested.reset();
            prepareRest(); // of the step before, which stays
            if (simulation() && m_wantsKernels != showsKernels())
                requestKernels();
            sayWhyNoStep(tr("This step cannot be simulated."));
            if (simulation() && m_findingsOf != simulation()) // of the step before, which stays: they were dropped
                requestFindings();
            Q_EMIT stepFailed(why);
            settleIfDone();
        });
    sayWhyNoStep(tr("Simulating…"));
}

void Desk::expect(const std::vector<sim::ScenarioDocument>& documents)
{
    m_worker.drop(kindOf(kExpected));
    m_expected.clear();
    for (const sim::ScenarioDocument& document : documents)
        m_worker.submit(
            {.kind = kindOf(kExpected),
             .work =
                 [this, document, simulate = m_simulate, prepare = m_prepare, catalogue = m_session.catalogue(),
                  wantsEveryRank = m_wantsEveryRank](const Task& task) {
                     const auto resolved = document.resolve(catalogue);
                     if (!resolved.scenario) // whoever opens it will be told
                         return;
                     const bool everyRank = wantsEveryRank && resolved.scenario->layout.worldSize() <= kMostRows;
                     MadeStep made{.step = makeStep(simulate, *resolved.scenario, everyRank), .models = {}, .goodput = {}};
                     for (const PrepareFunction& of : prepare)
                         made.models.push_back(of ? prepared(of, made.step) : Model{});
                     made.goodput = sim::goodput(*made.step.simulation);
                     task.tell([this, expected = Expected{.scenario = *resolved.scenario,
                                                          .everyRank = everyRank,
                                                          .made = std::make_shared<const MadeStep>(std::move(made))}] {
                         m_expected.push_back(expected);
                     });
                 },
             .failed = {}});
}

std::optional<ShownStep> Desk::expectedStep(const sim::ScenarioDocument& document) const
{
    if (m_expected.empty())
        return {};
    const auto resolved = document.resolve(m_session.catalogue());
    for (const Expected& expected : m_expected)
        if (resolved.scenario == expected.scenario && !expected.everyRank)
            return expected.made->step;
    return {};
}

/// What was not expected takes the place of what was: no more is held than a step beside those that are seen.
std::shared_ptr<const Desk::MadeStep> Desk::takeExpected(const sim::Scenario& scenario, bool everyRank)
{
    for (const Expected& expected : m_expected)
        if (expected.scenario == scenario && expected.everyRank == everyRank)
            return expected.made;
    m_worker.drop(kindOf(kExpected));
    m_expected.clear();
    return {};
}

void Desk::setKernels(bool wanted)
{
    if (std::exchange(m_wantsKernels, wanted) != wanted && simulation() && !m_awaits.step)
        requestKernels();
}

/// The trace that is wanted: the actions are there already, but what pictures show of them is not.
void Desk::requestKernels()
{
    m_awaits.kernels = true;
    m_worker.ask(
        kindOf(kKernels),
        [actions = m_actions, kernels = m_wantsKernels, prepare = prepareSeen()] {
            const ShownStep step = kernels ? makeKernels(actions.simulation) : actions;
            return std::pair(step, prepare(step));
        },
        [this](const auto& made) {
            m_awaits.kernels = false;
            show(made.first, made.second);
            Q_EMIT detailChanged();
            Q_EMIT waits();
            settleIfDone();
        },
        [this](const QString& why) {
            m_awaits.kernels = false;
            Q_EMIT kernelsFailed(why);
            Q_EMIT waits();
            settleIfDone();
        });
    Q_EMIT waits();
}

void Desk::setEveryRank(bool wanted)
{
    m_wantsEveryRank = wanted;
    if (m_requested)
        simulate();
}

bool Desk::canShowEveryRank() const
{
    return m_session.scenario() && m_session.scenario()->layout.worldSize() <= kMostRows;
}

Desk::Model Desk::prepared(const PrepareFunction& prepare, const ShownStep& step)
{
    Model out{.isReady = true, .model = {}, .failure = {}};
    try {
        out.model = prepare(step);
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) { // this picture's alone
        out.failure = QString::fromStdString(failureText());
    }
    return out;
}

/// For the worker: what pictures that are seen show of a step; nothing of the others.
std::function<std::vector<Desk::Model>(const ShownStep&)> Desk::prepareSeen() const
{
    std::vector<PrepareFunction> prepare = m_prepare;
    for (std::size_t picture = 0; picture < m_models.size(); ++picture)
        if (!m_isSeen[picture])
            prepare[picture] = nullptr;
    return [prepare = std::move(prepare)](const ShownStep& step) {
        std::vector<Model> models;
        models.reserve(prepare.size());
        for (const PrepareFunction& of : prepare)
            models.push_back(of ? prepared(of, step) : Model{});
        return models;
    };
}

void Desk::show(const ShownStep& step, std::vector<Model> models)
{
    m_step = step;
    m_selection.hoveredSpan.reset(); // of another trace
    m_selection.selectSpan(std::nullopt);
    m_selection.keepWithin(step.trace.get(), simulation() ? simulation()->mesh().worldSize() : 0);
    m_models = std::move(models);
    for (std::size_t picture = 0; picture < m_models.size(); ++picture)
        if (!m_prepare[picture] || !step.trace)
            m_models[picture].isReady = true;
    const std::int64_t endNs = step.trace ? step.trace->endNs : 0;
    m_zoom.setTrace(step.trace ? std::optional(endNs) : std::nullopt);
    m_playback.setSpan(m_selection.range.value_or(TimeRange{0, endNs}));
    m_playback.setPosition(m_selection.cursorNs);
    prepareRest();
}

/// What was not seen when the step was asked for.
void Desk::prepareRest()
{
    for (std::size_t picture = 0; picture < m_models.size(); ++picture)
        preparePicture(picture);
}

void Desk::preparePicture(std::size_t picture)
{
    m_worker.drop(kindOf(kSeenPicture, picture));
    m_worker.drop(kindOf(kUnseenPicture, picture));
    if (m_models[picture].isReady)
        return;
    m_worker.submit({.kind = kindOf(m_isSeen[picture] ? kSeenPicture : kUnseenPicture, picture),
                     .work =
                         [this, picture, step = m_step, prepare = m_prepare[picture]](const Task& task) {
                             task.tell([this, picture, made = prepared(prepare, step)] {
                                 m_models[picture] = made;
                                 Q_EMIT modelReady(static_cast<qsizetype>(picture));
                                 settleIfDone();
                             });
                         },
                     .failed = {}});
}

void Desk::setSeen(std::size_t picture, bool seen)
{
    if (m_isSeen[picture] == seen)
        return;
    m_isSeen[picture] = seen;
    if (seen)
        preparePicture(picture);
}

void Desk::requestLegalValues()
{
    if (!m_session.isOpen() || !m_session.shownValues())
        return;
    m_awaits.legalValues = true;
    m_worker.ask(
        kindOf(kLegalValues),
        [document = withoutView(m_session.document()), catalogue = m_session.catalogue(), lastLegal = *m_session.shownValues(),
         rule = m_layoutRule] { return legalValues(document, catalogue, lastLegal, rule); },
        [this](const LegalValueTable& values) {
            m_awaits.legalValues = false;
            Q_EMIT legalValuesReady(values);
            settleIfDone();
        },
        [this](const QString&) { // the form then offers nothing until another change is judged
            m_awaits.legalValues = false;
            settleIfDone();
        });
}

void Desk::setLayoutRule(LayoutRule rule)
{
    m_layoutRule = rule;
    requestLegalValues();
}

/// A job each: one is shown while the next is weighed, and what is more urgent comes between.
void Desk::requestCandidates()
{
    dropCandidates();
    const auto document = std::make_shared<const sim::ScenarioDocument>(withoutView(m_session.document()));
    const auto catalogue = std::make_shared<const sim::Catalogue>(m_session.catalogue());
    const auto lastLegal = std::make_shared<const sim::Scenario>(*m_session.scenario());
    const ScheduleCandidates listed = listedCandidates(*lastLegal);
    Q_EMIT candidatesListed(listed);
    for (std::size_t place = 0; place < listed.size(); ++place)
        m_worker.submit({.kind = kindOf(kCandidates),
                         .work =
                             [=, this, candidate = listed[place]](const Task& task) {
                                 task.tell([this, place, made = weighedCandidate(candidate, *document, *catalogue, *lastLegal)] {
                                     Q_EMIT candidateWeighed(place, made);
                                 });
                             },
                         .failed =
                             [this, place, candidate = listed[place]](const QString& why) mutable {
                                 candidate.isWeighed = true;
                                 candidate.whyNot = why.toStdString();
                                 Q_EMIT candidateWeighed(place, candidate);
                             }});
}

void Desk::requestFindings()
{
    m_awaits.findings = true;
    m_findingsOf = simulation();
    const auto document = m_documentOfStep; // the session's may be illegal by now, or one that cannot be simulated
    const auto catalogue = std::make_shared<const sim::Catalogue>(m_session.catalogue());
    m_worker.ask(
        kindOf(kFindings), [=, of = simulation()] { return sim::findings(*of, *document, *catalogue); },
        [=, this](const FindingList& found) {
            m_awaits.findings = false;
            submitEdits(found, document, catalogue);
            Q_EMIT findingsReady(found);
            settleIfDone();
        },
        [this](const QString& why) {
            m_awaits.findings = false;
            Q_EMIT findingsFailed(why);
            settleIfDone();
        });
}

/// A job each, so that what is more urgent need not wait for all of them. Of the document that they were found in.
void Desk::submitEdits(const FindingList& found, const std::shared_ptr<const sim::ScenarioDocument>& document,
                       const std::shared_ptr<const sim::Catalogue>& catalogue)
{
    for (std::size_t finding = 0; finding < found.size(); ++finding) {
        for (std::size_t edit = 0; edit < found[finding].suggestions.size(); ++edit) {
            const auto tell = [=, this](const std::optional<sim::EditEffect>& effect) {
                --m_awaits.edits;
                Q_EMIT editMeasured({.finding = finding, .edit = edit, .effect = effect});
                settleIfDone();
            };
            ++m_awaits.edits;
            m_worker.submit({.kind = kindOf(kEdits),
                             .work =
                                 [=, simulate = m_simulate, before = simulation(),
                                  change = found[finding].suggestions[edit]](const Task& task) {
                                     task.tell([tell, effect = measureEdit(simulate, *before, change, *document, *catalogue)] {
                                         tell(effect);
                                     });
                                 },
                             // An edit that cannot be simulated is told by its missing effect.
                             .failed = [tell](const QString&) { tell(std::nullopt); }});
        }
    }
}

std::optional<sim::Metrics> Desk::comparedTo() const
{
    const auto pinned = m_baseline.metrics();
    return pinned ? pinned : m_beforeLastChange ? std::optional(m_beforeLastChange->metrics) : std::nullopt;
}

std::optional<sim::WholeRun> Desk::comparedRun() const
{
    if (m_baseline.isReady())
        return lastingRunOf(*m_baseline.simulation());
    return m_beforeLastChange ? std::optional(m_beforeLastChange->run) : std::nullopt;
}

Desk::Numbers::Numbers(const sim::Simulation& of) : scenario(of.scenario()), metrics(of.metrics()), run(lastingRunOf(of)) {}

void Desk::dropCandidates()
{
    m_worker.drop(kindOf(kCandidates));
}

bool Desk::pinBaseline()
{
    // The numbers on screen are of the last legal state that was simulated: pinned is what is seen.
    if (m_awaits.step || !m_requested || !m_session.isLegal())
        return false;
    m_baseline.pin(m_session.displayName(), m_session.document(), m_actions);
    return true;
}

bool Desk::isSettled() const
{
    for (std::size_t picture = 0; picture < m_models.size(); ++picture)
        if (m_isSeen[picture] && !m_models[picture].isReady)
            return false;
    return !m_awaits.step && !m_awaits.kernels && !m_awaits.legalValues && !m_awaits.findings && m_awaits.edits == 0 &&
           m_baseline.isPinned() == m_baseline.isReady() && m_lineup.isReady();
}

void Desk::settleIfDone()
{
    if (isSettled())
        Q_EMIT settled();
}

void Desk::selectionMayHaveChanged()
{
    if (std::exchange(m_toldWindow, m_zoom.now()) != m_zoom.now())
        Q_EMIT zoomChanged();
    if (m_selection == m_toldSelection)
        return;
    Selection onlyCursor = m_toldSelection;
    onlyCursor.cursorNs = m_selection.cursorNs;
    const bool onlyCursorMoved = onlyCursor == m_selection;
    if (m_selection.range != m_toldSelection.range)
        m_playback.setSpan(m_selection.range.value_or(TimeRange{0, m_step.trace ? m_step.trace->endNs : 0}));
    m_toldSelection = m_selection;
    if (m_playback.positionNs() != m_selection.cursorNs)
        m_playback.setPosition(m_selection.cursorNs);
    Q_EMIT selectionChanged(onlyCursorMoved);
}

void Desk::setSelection(const Selection& selection)
{
    const bool asksForSlice = m_selection.asksForSlice, asksForRanks = m_selection.asksForRanks;
    m_selection = selection;
    m_selection.asksForSlice = asksForSlice;
    m_selection.asksForRanks = asksForRanks;
    m_selection.keepWithin(m_step.trace.get(), simulation() ? simulation()->mesh().worldSize() : 0);
    selectionMayHaveChanged();
}

void Desk::askForSlice(bool asks)
{
    if (m_selection.asksForSlice == asks)
        return;
    m_selection.asksForSlice = asks;
    m_selection.marked.reset();
    selectionMayHaveChanged();
}

void Desk::askForRanks(bool asks)
{
    if (m_selection.asksForRanks == asks)
        return;
    m_selection.asksForRanks = asks;
    selectionMayHaveChanged();
}

void Desk::selectRank(int rank)
{
    if (!simulation() || rank < 0 || rank >= simulation()->mesh().worldSize())
        return;
    m_selection.selectRank(rank);
    selectionMayHaveChanged();
}

bool Desk::selectSpan(SpanRef span)
{
    if (!m_step.trace || !exists(*m_step.trace, span))
        return false;
    m_selection.selectSpan(span);
    m_selection.cursorNs = m_step.trace->tracks[span.track].startNs[span.span];
    selectionMayHaveChanged();
    return true;
}

void Desk::setCursor(qint64 ns)
{
    m_selection.cursorNs = ns;
    selectionMayHaveChanged();
}

} // namespace app
