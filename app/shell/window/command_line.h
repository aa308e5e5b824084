// What the program was called with.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

namespace app {

inline constexpr const char* kComparisonFigure = "compare"; ///< of --figure, beside the pictures of one step

struct StartOptions {
    QString file;
    QStringList moreFiles; ///< of a recorded run whose first file is `file`
    bool plan = false;     ///< the Plan view, and starts it
    QString planPage;      ///< what of it is beside the map, one of kPlanPages; empty: the best layouts
    QString view;          ///< "grid", "timeline" or empty: both
    QString lesson;        ///< id or file of one to play
    QString handout;       ///< .pdf of it
    quint64 seed = 1;      ///< of that paper's numbers
    QString theme;         ///< "light", "dark", "high-contrast" or empty: as remembered
    QStringList overrides;
    QStringList compare;    ///< files of the baseline and of further scenarios
    bool present = false;   ///< before an audience
    bool live = false;      ///< train FILE at once
    QString attach;         ///< endpoint of a run to watch
    QString key, serverKey; ///< key file of this viewer, public key of the run: where it demands them
    QString screenshot;
    QString page; ///< .html
    QString figureView, figureFile;
    QString film; ///< file
    double filmSeconds = 10;
    int filmFramesPerSecond = 30;
    QSize size{1600, 900};
    bool sizeGiven = false; ///< false: a figure is no higher than its rows can use, a film is 1920x1080
    bool isLive() const { return live || !attach.isEmpty(); }
    bool isPicture() const
    {
        return !screenshot.isEmpty() || !figureFile.isEmpty() || !film.isEmpty() || !page.isEmpty() || !handout.isEmpty();
    }
};

struct CommandLine {
    StartOptions options;
    int exitCode = -1; ///< negative: go on and start
    QString output;    ///< for standard output (exit code 0) or standard error
};

/// `arguments` without the program's name. A QCoreApplication must exist.
CommandLine parseCommandLine(const QStringList& arguments, const QString& version);

} // namespace app
