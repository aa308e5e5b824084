// What lies on the desk: the scenario with its history, the newest step simulated of it, what that is compared with, and what of
// it is looked at: one selection, one time cursor, one zoom. Every picture and panel shows the desk; none owns a part of it.
#pragma once

#include "app/session/baseline.h"
#include "app/session/legal_values.h"
#include "app/session/lineup.h"
#include "app/session/make_step.h"
#include "app/session/playback.h"
#include "app/session/schedule_candidates.h"
#include "app/session/session.h"
#include "app/session/worker.h"
#include "app/step/selection.h"
#include "app/step/shown_step.h"
#include "app/step/time_zoom.h"
#include "sim/analysis/goodput.h"

#include <QObject>
#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace app {

/// What a picture has prepared of a step on the worker; a picture that prepares nothing has none.
using PrepareFunction = std::function<PictureModelPtr(const ShownStep&)>;

class Desk : public QObject {
    Q_OBJECT
public:
    /// Pictures are known by their places in `prepare`. An empty autosave folder: unsaved work is not kept.
    Desk(sim::Catalogue, const QString& autosaveFolder, std::vector<PrepareFunction> prepare = {},
         SimulateFunction = sim::simulate, QObject* parent = nullptr);
    ~Desk() override; ///< cancels and joins

    Session& session() { return m_session; }
    const Session& session() const { return m_session; }
    Baseline& baseline() { return m_baseline; }
    const Baseline& baseline() const { return m_baseline; }
    /// What is compared beside the two; nothing without a baseline.
    Lineup& lineup() { return m_lineup; }
    const Lineup& lineup() const { return m_lineup; }

    /// The newest step of the scenario: of its last legal state; nullptr while there is none, and then why.
    const SimulationPtr& simulation() const { return m_actions.simulation; }
    /// What failures leave of simulation(); nothing where it has none.
    const std::optional<sim::Goodput>& goodput() const { return m_goodput; }
    const TracePtr& actions() const { return m_actions.trace; }
    const QString& whyNoStep() const { return m_whyNoStep; }
    /// The same as it is on screen: with its kernels where these are wanted and ready.
    const ShownStep& step() const { return m_step; }
    /// What the picture shows of step(); nullptr where nothing is prepared.
    const PictureModelPtr& model(std::size_t picture) const { return m_models[picture].model; }
    /// Why there is none; empty where it could be prepared.
    const QString& whyNoModel(std::size_t picture) const { return m_models[picture].failure; }
    /// False: step() is being prepared for the picture, and modelReady() will tell.
    bool isPrepared(std::size_t picture) const { return m_models[picture].isReady; }
    /// Pictures that are seen are prepared before a step is shown, the others when nothing more urgent is to be done.
    void setSeen(std::size_t picture, bool);
    /// The numbers to compare with: of the pinned baseline, else before the last step of the history; nothing right after
    /// opening.
    std::optional<sim::Metrics> comparedTo() const;
    std::optional<sim::WholeRun> comparedRun() const; ///< of the same; its tokens may be others

    /// What is probably opened next, or compared with: made at leisure, so that nobody waits for it then. The same as it will be
    /// opened, names and all; what was expected before is forgotten, and so is all of it when something else is opened.
    void expect(const std::vector<sim::ScenarioDocument>&);
    /// The step of what was expected and is made; nothing of others.
    std::optional<ShownStep> expectedStep(const sim::ScenarioDocument&) const;

    void setKernels(bool); ///< every kernel, not only the actions
    bool wantsKernels() const { return m_wantsKernels; }
    void setEveryRank(bool); ///< a row for each rank; beyond 512 ranks nothing comes of it
    bool canShowEveryRank() const;
    void setLayoutRule(LayoutRule); ///< of the form's legal values
    /// What each schedule family would make of the job: candidatesListed() at once, then candidateWeighed() for each.
    void requestCandidates();
    void dropCandidates(); ///< nobody waits for them any more
    bool pinBaseline();    ///< false: the step on screen is not of the scenario as it is now

    bool isSimulating() const { return m_awaits.step || m_awaits.kernels; }
    bool isSettled() const; ///< everything that was asked for is there
    /// What is made at leisure, too.
    bool isResting() const { return isSettled() && !m_worker.isBusy(); }

    /// Pictures write these and then say so.
    TimeZoom& zoom() { return m_zoom; }
    Selection& selection() { return m_selection; }
    const Selection& selection() const { return m_selection; }
    void selectionMayHaveChanged();
    void setSelection(const Selection&); ///< what does not exist in this step is left out
    /// The storage picture asks for a part of a tensor, whatever is opened meanwhile; what was marked before is forgotten.
    void askForSlice(bool);
    void askForRanks(bool); ///< likewise the rank grid, which tells nobody's groups meanwhile
    void selectRank(int rank);
    bool selectSpan(SpanRef); ///< and moves the cursor there; false: there is none
    void setCursor(qint64 ns);
    Playback& playback() { return m_playback; }
    const Playback& playback() const { return m_playback; }

Q_SIGNALS:
    void opened();                      ///< another scenario, or none: there is no step, nothing is selected
    void stepChanged();                 ///< another step
    void detailChanged();               ///< the same step with more or less of its trace
    void modelReady(qsizetype picture); ///< of a picture that was not prepared with the step
    void comparedToChanged();           ///< by a baseline that was pinned or forgotten
    void waits();                       ///< for something else than before, or for nothing; whyNoStep() may be another
    void selectionChanged(bool onlyCursor);
    void zoomChanged();
    void legalValuesReady(const app::LegalValueTable& values);
    void candidatesListed(const app::ScheduleCandidates& candidates);
    void candidateWeighed(std::size_t place, const app::ScheduleCandidate& candidate);
    void findingsReady(const app::FindingList& findings); ///< of the step
    void findingsFailed(const QString& message);          ///< instead: why nothing can be found
    void editMeasured(const app::EditResult& result);     ///< after findingsReady, one by one
    void stepFailed(const QString& message);              ///< it cannot be simulated
    void kernelsFailed(const QString& message);
    void settled();

private:
    struct Model {
        bool isReady = false;
        PictureModelPtr model;
        QString failure;
    };
    struct MadeStep {
        ShownStep step;
        std::vector<Model> models;
        std::optional<sim::Goodput> goodput;
    };
    struct Expected {
        sim::Scenario scenario;
        bool everyRank = false;
        std::shared_ptr<const MadeStep> made;
    };
    static Model prepared(const PrepareFunction&, const ShownStep&);
    void forget();
    void sessionChanged();
    void simulate();
    void requestKernels();
    void requestLegalValues();
    void requestFindings();
    void submitEdits(const FindingList&, const std::shared_ptr<const sim::ScenarioDocument>&,
                     const std::shared_ptr<const sim::Catalogue>&);
    void dropOfStep();
    bool showsKernels() const { return m_step.trace != m_actions.trace; }
    void show(const ShownStep&, std::vector<Model>);
    std::function<std::vector<Model>(const ShownStep&)> prepareSeen() const;
    std::shared_ptr<const MadeStep> takeExpected(const sim::Scenario&, bool everyRank);
    void prepareRest();
    void preparePicture(std::size_t picture);
    void sayWhyNoStep(const QString&);
    void settleIfDone();

    const std::vector<PrepareFunction> m_prepare;
    const SimulateFunction m_simulate;
    Session m_session;
    Baseline m_baseline;
    Lineup m_lineup;
    ShownStep m_actions, m_step;
    std::optional<sim::Goodput> m_goodput; ///< of m_actions
    std::vector<Model> m_models;           ///< of m_step, as m_prepare
    std::vector<bool> m_isSeen;            ///< likewise
    QString m_whyNoStep;
    Selection m_selection, m_toldSelection;
    TimeZoom m_zoom;
    TimeWindow m_toldWindow;
    Playback m_playback;
    std::vector<Expected> m_expected;
    std::optional<sim::Scenario> m_requested; ///< newest scenario that was asked for
    /// Without their views: the one that was asked for, and that of the step on screen, which findings are of.
    std::shared_ptr<const sim::ScenarioDocument> m_requestedDocument, m_documentOfStep;
    std::optional<sim::Scenario> m_requestedBefore; ///< the one before it
    struct Numbers {
        sim::Scenario scenario;
        sim::Metrics metrics;
        sim::WholeRun run;
        explicit Numbers(const sim::Simulation&);
    };
    std::optional<Numbers> m_beforeLastChange; ///< before the last step of the history, where they are known
    SimulationPtr m_findingsOf;                ///< whose findings were asked for
    quint64 m_historyPlace = 0;                ///< when they were taken
    /// What was simulated last at each place of the history: while one drags, what is on screen is of a place passed through.
    std::map<quint64, Numbers> m_simulatedAt;
    bool m_wantsKernels = false, m_wantsEveryRank = false;
    LayoutRule m_layoutRule = LayoutRule::keepGpus;
    struct {
        bool step = false, kernels = false, legalValues = false, findings = false;
        std::size_t edits = 0;
    } m_awaits;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
