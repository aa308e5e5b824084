#include "app/session/film.h"

#include "app/session/failure.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace app {
namespace {

constexpr int kFramesAhead = 6; ///< drawn and not encoded yet: 8 MB each at 1080p
constexpr int kMakeScene = 0, kEncode = 1;

} // namespace

int FilmPlan::frameRate() const
{
    const auto ending = filmEndingOf(path);
    return ending ? std::min(framesPerSecond, highestFrameRate(*ending)) : framesPerSecond;
}

int FilmPlan::frames() const
{
    return std::max(2, static_cast<int>(std::lround(seconds * frameRate())));
}

std::int64_t FilmPlan::momentOf(int frame) const
{
    const double share = static_cast<double>(frame) / (frames() - 1);
    return span.beginNs + std::llround(share * static_cast<double>(span.endNs - span.beginNs));
}

FilmMaker::FilmMaker(QObject* parent) : QObject(parent)
{
    m_draw.setInterval(0);
    connect(&m_draw, &QTimer::timeout, this, &FilmMaker::drawNext);
}

FilmMaker::~FilmMaker()
{
    cancel();
}

void FilmMaker::start(const FilmPlan& plan, std::function<std::shared_ptr<FilmScene>()> make)
{
    assert(!m_isBusy);
    m_isBusy = true;
    m_plan = plan;
    m_drawn = m_encoded = 0;
    m_worker = std::make_unique<Worker>();
    const auto failed = [this](const QString& why) { end(why); };
    const auto made = [this, failed](const std::shared_ptr<FilmScene>& scene) {
        m_scene = scene;
        try {
            m_file = openFilm(m_plan.path, m_plan.shape, {.frames = m_plan.frames(), .framesPerSecond = m_plan.frameRate()});
        } catch (...) {
            return failed(QString::fromStdString(failureText()));
        }
        m_draw.start();
    };
    m_worker->ask(kMakeScene, std::move(make), made, failed);
}

void FilmMaker::drawNext()
{
    if (m_drawn - m_encoded >= kFramesAhead || m_drawn == m_plan.frames()) {
        m_draw.stop(); // goes on when a frame is encoded
        return;
    }
    std::function<void()> encode;
    try {
        encode = m_file->draw(m_scene->at(m_plan.momentOf(m_drawn)));
    } catch (...) {
        return end(QString::fromStdString(failureText()));
    }
    const bool isLast = ++m_drawn == m_plan.frames();
    m_worker->submit({.kind = kEncode,
                      .work =
                          [this, encode = std::move(encode), isLast](const Task& task) {
                              encode();
                              if (isLast)
                                  m_file->finish();
                              task.tell([this, isLast] {
                                  Q_EMIT progressed(++m_encoded, m_plan.frames());
                                  if (isLast)
                                      end({});
                                  else if (!m_draw.isActive())
                                      m_draw.start();
                              });
                          },
                      .failed = [this](const QString& why) { end(why); }});
}

void FilmMaker::end(const QString& failure)
{
    m_draw.stop();
    m_worker->dropAll();
    // Later: the worker is not to go while it tells this.
    QMetaObject::invokeMethod(
        this,
        [this, failure] {
            if (!m_isBusy)
                return;
            cancel();
            Q_EMIT finished(m_plan.path, failure);
        },
        Qt::QueuedConnection);
}

void FilmMaker::cancel()
{
    m_draw.stop();
    if (m_worker)
        m_worker->stop();
    m_worker.reset();
    m_file.reset(); // removes what is not finished
    m_scene.reset();
    m_isBusy = false;
}

} // namespace app
