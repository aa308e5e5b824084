// The window: gallery or workspace in the middle, scenario form and details in docks, every command of the table in its menus.
// It shows the desk (app/session/desk.h), where everything happens.
#pragma once

#include "app/session/desk.h"
#include "app/session/file_export.h"
#include "app/session/help.h"
#include "app/session/live_run.h"
#include "app/session/machine_load.h"
#include "app/session/settings.h"
#include "app/session/view_state.h"
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/widgets/figure_source.h"
#include "app/shell/widgets/late_area.h"
#include "app/shell/widgets/late_dock.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/wheel_habit.h"
#include "app/shell/window/commands.h"
#include "app/shell/window/text_size.h"
#include "app/shell/window/workspace.h"
#include "sim/frameworks/frameworks.h"

#include <QMainWindow>
#include <QPointer>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

class QAction;
class QDockWidget;
class QLabel;
class QMenu;
class QStackedWidget;
class QToolButton;

namespace app {

struct StepFilm;

class ComparePage;
class DetailsPanel;
class ElidedLabel;
class FindingsPanel;
class GalleryPage;
class LessonPanel;
class LessonProgress;
class LivePanel;
class OpsPanel;
class PlanPanel;
class Presentation;
class ProblemBanner;
class ProblemPage;
class RecordedPanel;
class RecordedRun;
class RecordWindow;
class ScenarioForm;
class ScenarioHeader;
class SettingsDialog;
class SettingsImport;
class Talk;
class WorkerDialog;

struct LessonScene;

struct WindowOptions {
    /// Remembers nothing and shows nothing that differs from run to run: pictures, tests.
    bool reproducible = false;
    std::optional<ThemeChoice> theme; ///< instead of the remembered one
    Renderer renderer = Renderer::automatic;
};

/// Of docks, where there is room.
inline constexpr int kFormWidth = 324, kDetailsWidth = 308, kLessonWidth = 380, kNarrowestDock = 292;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(sim::Catalogue, const WindowOptions& = {});
    ~MainWindow() override;

    /// What is wrong comes back and stands in the banner, or on a page of its own where nothing is open; then nothing else has
    /// changed.
    Problems openFile(const QString& path, const QStringList& overrides = {});
    /// Settings of another framework, files of one job: what they do not say is asked, then they are a scenario. What is wrong
    /// comes back.
    Problems importSettings(const QStringList& paths, const QStringList& overrides = {});
    /// One scenario, or the files and folders of one recorded run.
    Problems openAll(const QStringList& paths);
    void showGallery();
    /// Plays a lesson: a file, or the id of one that came with the program. What is wrong comes back as from openFile.
    Problems openLesson(const QString& idOrPath);
    /// By its `format`; whatever else is wrong with it is told when it is read as a lesson.
    static bool isLessonFile(const QString& path);
    static QString lessonPath(const QString& idOrPath, const sim::Catalogue&);
    /// Shows the run and goes to the Live view; a run before it ends if it was started here.
    void train(const sim::Scenario&);
    void attach(const QString& endpoint, const std::optional<live::ViewerKeys>& keys = {});
    void showLive();
    /// Files of other profilers, or folders of them: one run. Reads beside the window and goes to its page.
    void openTraces(const QStringList& paths);
    void showRecorded();
    /// Of the run that is open: with model and cluster of that scenario. What is wrong comes back and stands in the banner.
    Problems predictRecordedAs(const QString& path);
    /// What came of it, for people.
    QString compareWithSchedule(const QString& kind);
    /// Takes a file as the baseline and goes to the Compare page. What is wrong comes back and stands in the banner.
    Problems compareWith(const QString& path);
    Problems compareWithAll(const QStringList& paths); ///< up to five beside the open one
    void showCompare();
    void leavePage(); ///< a run or a comparison, for the scenario; for the gallery where none is open
    void showPlan();  ///< and starts it, as soon as there is a step
    void showOnly(Picture);
    void showInFront(Picture); ///< as soon as there is a step, whatever layout is remembered and whatever the file shows
    /// `fromItsBegin`: a lesson from its first step, not from where its player is.
    void present(bool fromItsBegin = false); ///< the description, slide by slide, over the whole screen
    /// As its menu item does; nothing where it is not enabled.
    void run(CommandId id) { action(id)->trigger(); }
    bool isEnabled(CommandId id) const { return command(id).enabled(*this); }

    /// Everything that was asked for is on screen.
    bool isSettled() const;
    Desk& desk() { return m_desk; }
    Session& session() { return m_session; }
    Workspace& workspace() { return *m_workspace; }
    ScenarioForm& form() { return *m_form; }
    DetailsPanel& details() { return *m_details; }
    FindingsPanel& findings() { return *m_findings; }
    OpsPanel& ops(); ///< built when it is first asked for; likewise
    PlanPanel& planner();
    LessonPanel& lesson() { return *m_lesson; }
    bool isInLesson() const { return m_isInLesson; }
    ProblemBanner& banner() { return *m_banner; }
    GalleryPage& gallery(); ///< pages are built when they are first asked for
    ProblemPage& problemPage();
    LivePanel& live();
    RecordedPanel& recorded();
    ComparePage& comparePage();
    /// As a figure (.svg, .pdf, .png) or a table.
    void saveComparison(const QString& path);
    LiveRun* liveRun() { return m_run.get(); } ///< nullptr: there is none
    /// For a program that is ended: a worker that was started here goes with its folder.
    void endRun() { m_run.reset(); }
    Presentation* presentation() const; ///< nullptr: none is given
    RecordWindow* recorder() const;     ///< nullptr: no lesson is recorded
    bool isGalleryShown() const;
    bool isLiveShown() const;
    bool isRecordedShown() const;
    bool isCompareShown() const;
    bool isProblemPageShown() const;

protected:
    bool event(QEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;
    bool focusNextPrevChild(bool next) override;
    void keyPressEvent(QKeyEvent*) override;
    void closeEvent(QCloseEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    friend struct CommandTable; // says what each command does
    QString assetsPath() const;
    void buildActions();
    void buildMenus();
    void buildToolBar();
    void fitToolBar();
    void buildPages();
    void buildStatusBar();
    void connectParts();
    bool runInView(ViewCommand, bool fast); ///< false: it changed nothing
    void updateActions();
    void tellWhyNot(const Command&);
    void updateTitle();
    void updateIcons();
    void setThemeChoice(ThemeChoice);
    QAction* action(CommandId id) const { return m_actions.at(id); }

    bool isWorkspaceShown() const { return !isStartShown() && !isLiveShown() && !isCompareShown() && !isRecordedShown(); }
    bool isStartShown() const { return isGalleryShown() || isProblemPageShown(); } ///< a page without pictures
    void showWorkspace();
    void leaveWorkspace();
    void showPage(LateArea&);
    bool isShown(const LateArea* page) const;
    GalleryPage* buildGallery(QWidget* parent);
    ProblemPage* buildProblemPage(QWidget* parent);
    LivePanel* buildLive(QWidget* parent);         // in main_window_live.cpp
    RecordedPanel* buildRecorded(QWidget* parent); // in main_window_recorded.cpp
    ComparePage* buildCompare(QWidget* parent);    // in main_window_compare.cpp
    Problems openScenario(const QString& path, const QStringList& overrides);
    Session::FileRead readFile(const QString& path, const QStringList& overrides);
    bool areSettings(const QStringList& paths);
    QString readBeside(const QStringList& paths, const std::function<void()>& read);
    Problems startLesson(const QString& idOrPath, bool asks);
    void tellUnopened(const QString& path, const Problems&, const QStringList& overrides);
    void takeDropped(const QStringList& paths, bool asBaseline);
    void connectComparison();
    void pinBaseline();
    void forgetBaseline();
    void goBackToFormerBaseline();
    void tellOfUnsaved(const QString& path);
    void tellNotComparable(const QString& name, const Problems&);
    void tellOfBaseline(const QString&);
    void partFromBaseline();
    void chooseBaseline();
    void chooseFurther();
    void keepInComparison();
    QString comparedAs(const std::string& text) const;
    void exportComparison();
    void exportComparisonFigure();
    QSize comparisonSize(); ///< of its figure, whatever room the page has: none of several is out of sight
    bool runIsActive() const;
    bool mayEndRun();
    void watch(std::unique_ptr<LiveRun>, const QString& name);
    void showUpdate(const LiveUpdate&);
    void chooseTraining();
    void trainAgain();
    void chooseAddress();
    void freezePicture(bool);
    void chooseTraceFile();
    void checkSerial();
    void calibrate();
    struct Predicted;
    Predicted predictedNow() const;
    bool isRunOnScreen() const; ///< one that trains, or the last one
    bool calibratesRun() const;
    bool calibratesScenario() const;
    void useProfile(const QString& path, const Predicted& before, WorkerDialog&);
    void startDemo(const QString& path);
    RecordedRun* recordedRun() const; ///< nullptr: none was opened; these are in main_window_recorded.cpp
    bool hasRecordedRun() const;
    void chooseTraceFolder();
    void predictRecorded();
    void whatIfFromRecorded();
    void compareRecorded();
    void compareRecordedFolder();
    void compareRecordedWith(const QStringList& paths);
    void saveRecorded();
    void exportRecordedTable();
    void connectDesk();
    void deskOpened();
    void stepChanged();
    void showPointed();
    void showStatus();
    void showRunAway();
    void buildLesson(); // these are in main_window_lessons.cpp
    void showLessonDock();
    void leaveLesson();
    void giveWidthBack();
    void showScene(const LessonScene&);
    void expectScene(const LessonScene&);
    std::vector<Picture> picturesInFrontOf(const LessonScene&) const;
    void limitForm();
    void maskNumbers(bool masked);
    QString whyHidden() const;
    std::unique_ptr<Talk> talkOfLesson();
    void exportHandout();
    void exportResults();
    void recordLesson();
    void buildFindings(); // these are in main_window_docks.cpp
    OpsPanel* buildOps();
    PlanPanel* buildPlan();
    void addDocksBelow();
    void compareWithPlan(const QString& name, const sim::ScenarioDocument&);
    void placeFindings();
    void foldDocks();
    void foldBelow();
    bool hasRoomForDocks() const;
    bool isBelow(QDockWidget&) const;
    void giveHeightsBack();
    void setFolded(bool);
    std::array<QDockWidget*, 3> docks() const { return {m_formDock, m_detailsDock, m_findingsDock}; }
    std::array<bool, 3> hiddenDocks() const;
    bool findingsAreMoved() const;
    QByteArray dockState();
    bool restoreDocks(const QByteArray& state);
    void goToOrHide(QDockWidget&, CommandId);
    void resetLayout();
    void chooseTextSize(int percent);
    void takeTextSize();
    void fitScreen();
    QSize smallestSize() const;
    void setKernels(bool);
    void showHint(const sim::ShowHint&);
    void takeHintBack();

    bool mayLoseChanges();
    bool save();
    bool saveAs();
    void chooseFile();
    void chooseNew();
    void nameScenario();
    void saveWithView();
    ViewState viewState() const;
    void applyViewState();
    void exportFigure();
    void exportTable();
    void exportLiveFigure();
    void exportRecordedFigure();
    ExportDialog* openExport(std::vector<FigureSource>, std::size_t first, ExportDialog::Words);
    void exportTrace();
    void exportFilm();
    void exportRecordedFilm();
    void openFilmDialog(StepFilm, const QString& name);
    void exportPage();
    void copyLink();
    void openFromClipboard();
    void chooseSettings();
    void importSettings(SettingsImport, const QStringList& overrides, const QString& path = {});
    void copySettings();
    void readHelp();
    void showTermsOnCards();
    QString termAmong(const QStringList& words) const;
    void showHelp(const QString& title);
    void showSetting(const QString& pointer);
    void copyFigure();
    QString exportName() const;
    void tellSaved(const QString& path);
    void tellNotSaved(const QString& path, const QString& reason);
    SettingsDialog& openSettings();
    void applySettings(const Settings&);
    void chooseSchedule();
    void findSchedule();
    void editOrder(bool);
    void saveOrder();
    void giveUpOrder();
    void followOrder();
    bool mayLoseOrder();
    void fillRecentMenu();
    void refreshGallery();
    void forgetGalleryEntries();
    void recover(int index);
    void discard(int index);
    void openPalette(const QString& typed = {});
    void showKeys();
    void showAbout();
    ThemeChoice startTheme() const;
    void readSettings();
    void writeSettings();
    void tellIfForgotten(bool isKept);

    const WindowOptions m_options;
    Desk m_desk;
    Session& m_session;   ///< of the desk
    Baseline& m_baseline; ///< likewise
    std::map<CommandId, QAction*> m_actions;
    QMenu* m_recentMenu = nullptr;
    QToolButton* m_findButton = nullptr;
    QList<QToolButton*> m_textButtons; ///< of the tool bar, with names beside their icons where there is room

    QStackedWidget* m_pages = nullptr;
    ProblemBanner* m_banner = nullptr;
    ScenarioHeader* m_header = nullptr;
    Workspace* m_workspace = nullptr;
    LatePage<GalleryPage> m_gallery;
    LatePage<LivePanel> m_live;
    LatePage<RecordedPanel> m_recorded;
    LatePage<ComparePage> m_compare;
    LatePage<ProblemPage> m_problemPage;
    QPointer<Presentation> m_presentation;
    QPointer<RecordWindow> m_recorder;
    ScenarioForm* m_form = nullptr;
    DetailsPanel* m_details = nullptr;
    FindingsPanel* m_findings = nullptr;
    LessonPanel* m_lesson = nullptr;
    QDockWidget* m_lessonDock = nullptr;
    std::unique_ptr<LessonProgress> m_lessonProgress;
    QString m_recordedBusy; ///< what the status line says while a recording is worked on
    bool m_kernelsBeforeLesson = false;
    bool m_kernelsOfHint = false; ///< they are shown for the sake of a finding or a number, until something else is looked at
    bool m_isInLesson = false, m_lessonPinned = false, m_masksNumbers = false;
    bool m_showsScene = false;                     ///< what is on screen is the lesson's
    bool m_opensScene = false;                     ///< just now
    std::shared_ptr<const Session::Aside> m_tried; ///< in the step of the lesson that is presented
    /// The scenario that may go for the lesson's first case, as it was when that was asked.
    std::optional<std::string> m_givenUp;
    std::optional<std::pair<QDockWidget*, int>> m_widthBeforeLesson; ///< of the dock that the lesson came to lie on
    std::vector<Picture> m_frontNext;                                ///< pictures that a lesson speaks of, once its step is there
    int m_lessonTalkStart = 0;                                       ///< slide of the step that the player is at
    LatePage<OpsPanel, LateDock> m_ops;
    LatePage<PlanPanel, LateDock> m_plan;
    QDockWidget *m_formDock = nullptr, *m_detailsDock = nullptr, *m_findingsDock = nullptr, *m_opsDock = nullptr,
                *m_planDock = nullptr;
    QToolButton* m_undoBaseline = nullptr;
    ElidedLabel* m_pointedLabel = nullptr;
    QLabel* m_resultLabel = nullptr;
    QToolButton* m_runAway = nullptr; ///< what the training does that is not looked at, and the way to it
    bool m_runEndSeen = true;
    QToolButton* m_problems = nullptr;          ///< how many; its menu has each
    std::optional<bool> m_findingsAreTab;       ///< as they were placed last
    bool m_placesFindings = true;               ///< nobody has taken them away from the numbers
    QByteArray m_dockState;                     ///< of the workspace, while the gallery hides its docks
    std::optional<QByteArray> m_unfolded;       ///< the docks as they are in a wider window, while this one is narrow
    std::optional<int> m_widthUnsqueezed;       ///< of docks that are as narrow as they can be, because the window is
    std::map<QDockWidget*, int> m_heightsBelow; ///< of table of ops and plan, as they were made; 0: not known
    QSize m_laidOutSize;                        ///< of the window, when the docks were given their places in it
    QPointer<QDockWidget> m_coveredDock;        ///< was in front where another was asked for
    std::array<bool, 3> m_hiddenUnfolded{};     ///< form, numbers, findings, as they were then
    QString m_toldOfBaseline;                   ///< by the status line, with a button that takes it back
    QString m_baselineOf;                       ///< path of the scenario that the baseline belongs to
    bool m_baselineIsWanted = false;            ///< somebody pinned it; else a comparison did, and another scenario ends both
    TextSize m_textSize;
    Settings m_settings;
    Settings m_knownSettings; ///< as this window has read or written them last; others write them too
    WheelHabit m_wheelHabit;
    Help m_help;
    FileExport m_fileExport;

    std::optional<std::array<bool, 2>> m_belowShown; ///< table of ops and plan, when the workspace was left

    bool m_showsViewNext = false; ///< the file's, as soon as there is a result to show it of
    bool m_tidiesTabs = false, m_foldsSoon = false;
    bool m_belowAreTabs = false;          ///< table of ops and plan ///< soon
    bool m_showsWorkspaceNext = false;    ///< in the turn after the one that opens a scenario
    std::optional<Picture> m_inFrontNext; ///< the one that was asked for
    bool m_plansNext = false;             ///< likewise
    bool m_playsNext = false;             ///< as soon as the scenario chosen in the gallery has a result
    bool m_hasToldForgotten = false;      ///< that settings cannot be kept
    bool m_bannerTellsFailure = false;    ///< of the simulation: it is over with the next result
    QTimer m_busyTimer;                   ///< until then a simulation is not worth mentioning
    QTimer m_pointedTimer;
    QTimer m_textSizeTimer; ///< until then another one may be chosen
    std::vector<Recovery> m_recoveries;
    std::unique_ptr<LiveRun> m_run;                ///< that is watched, or was last
    std::optional<sim::Scenario> m_trained;        ///< here, last
    std::optional<sim::Efficiency> m_trainedKnows; ///< what was measured for its prediction
    MachineLoad m_load;                            ///< while it runs here
    Worker m_lessonWorker;                         ///< last: ends before what it uses
};

} // namespace app
