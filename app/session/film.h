// Makes a film of a picture while the window goes on: frames are drawn on its thread, one at a time between events, and encoded
// on another. Can be cancelled; what is not finished leaves no file.
#pragma once

#include "app/canvas/qt/film_file.h"
#include "app/session/worker.h"
#include "app/step/selection.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <functional>
#include <memory>

namespace app {

/// What is filmed: a view and its time. Made on a worker, drawn on the window's thread.
class FilmScene {
public:
    virtual ~FilmScene() = default;
    virtual View& at(std::int64_t ns) = 0; ///< the same view, at that moment
};

struct FilmPlan {
    QString path; ///< .mp4, .webm, .gif, or .svg: numbered files
    FigureShape shape;
    TimeRange span; ///< of the step: the first frame shows its begin, the last its end
    double seconds = 10;
    int framesPerSecond = 30;
    int frameRate() const;                  ///< framesPerSecond, or the most that the kind of file can have
    int frames() const;                     ///< at least 2
    std::int64_t momentOf(int frame) const; ///< nanoseconds of the step
};

class FilmMaker : public QObject {
    Q_OBJECT
public:
    explicit FilmMaker(QObject* parent = nullptr);
    ~FilmMaker() override; ///< as cancel()

    /// `make` runs on a worker. Only if not busy.
    void start(const FilmPlan&, std::function<std::shared_ptr<FilmScene>()> make);
    void cancel(); ///< nothing is told any more, and no file is left
    bool isBusy() const { return m_isBusy; }

Q_SIGNALS:
    void progressed(int frames, int of);
    void finished(const QString& path, const QString& failure); ///< no failure: the film is there, whole

private:
    void drawNext();
    void end(const QString& failure);

    FilmPlan m_plan;
    std::shared_ptr<FilmScene> m_scene;
    std::unique_ptr<FilmFile> m_file;
    QTimer m_draw;
    bool m_isBusy = false;
    int m_drawn = 0, m_encoded = 0;
    std::unique_ptr<Worker> m_worker; ///< last: ends before what it uses
};

} // namespace app
