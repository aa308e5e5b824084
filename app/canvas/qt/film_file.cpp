#include "app/canvas/qt/film_file.h"

#include "app/canvas/film/film_encoder.h"
#include "app/canvas/qt/fonts.h"
#include "app/canvas/qt/imgui_canvas.h"
#include "app/canvas/qt/save_whole.h"
#include "app/canvas/qt/unfinished_file.h"
#include "app/canvas/qt/window_pixels.h"
#include "sim/error.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QLibrary>

#include <stdexcept>
#include <utility>

namespace app {
namespace {

/// The module's entry, or why there is none. Where the environment says that modules are, beside the program, or where they are
/// installed.
std::pair<OpenFilmEncoder, QString> filmModule()
{
    static const std::pair<OpenFilmEncoder, QString> found = [] {
        QStringList folders = qEnvironmentVariable("RANKSCOPE_MODULE_PATH").split(QLatin1Char(':'), Qt::SkipEmptyParts);
        const QString program = QCoreApplication::applicationDirPath();
        folders << program << QDir::cleanPath(program + QLatin1Char('/') + QStringLiteral(RANKSCOPE_INSTALLED_MODULES));
        for (const QString& folder : folders) {
            const QString file = QDir(folder).filePath(QLatin1String(kFilmModule) + QStringLiteral(".so"));
            if (!QFileInfo::exists(file))
                continue;
            QLibrary library(file);
            const auto entry = reinterpret_cast<OpenFilmEncoder>(library.resolve(kFilmEntry));
            return std::pair(entry, entry ? QString() : library.errorString());
        }
        return std::pair(
            OpenFilmEncoder{},
            QStringLiteral("films need the module %1.so, which is not in %2; it is built where FFmpeg's libraries "
                           "are (Debian: libavcodec-dev libavformat-dev libswscale-dev); numbered SVGs (.svg) need none")
                .arg(QLatin1String(kFilmModule), folders.join(QStringLiteral(", "))));
    }();
    return found;
}

QSize evenPixels(const FigureShape& shape)
{
    const auto even = [&](int logical) { return (qRound(logical * shape.pngScale) + 1) / 2 * 2; };
    return {even(shape.logical.width()), even(shape.logical.height())};
}

/// What the module throws, with the file's name.
template <class Call>
auto told(const QString& path, Call call)
{
    try {
        return call();
    } catch (const std::runtime_error& error) {
        throw sim::Error(path.toStdString() + ": " + error.what());
    }
}

class EncodedFilm final : public FilmFile {
public:
    EncodedFilm(const QString& path, FilmEnding ending, const FigureShape& shape, int framesPerSecond)
        : m_path(path), m_part(path), m_pixels(evenPixels(shape)),
          m_list(GlyphAtlas::forScale(static_cast<float>(shape.pngScale)))
    {
        const QByteArray part = QFile::encodeName(m_part.name());
        m_encoder.reset(told(path, [&] {
            return filmModule().first({.path = part.constData(),
                                       .ending = filmEnding(ending),
                                       .width = m_pixels.width(),
                                       .height = m_pixels.height(),
                                       .framesPerSecond = framesPerSecond});
        }));
        m_list.keepStacks(true);
    }
    std::function<void()> draw(View& view) override
    {
        QImage image(m_pixels, QImage::Format_RGB32);
        if (image.isNull())
            throw sim::Error(m_path.toStdString() + ": no memory for a frame");
        m_list.begin(m_pixels.width(), m_pixels.height());
        const float scale = m_list.atlas().scale();
        ImGuiCanvas canvas(m_list,
                           {0, 0, static_cast<float>(m_pixels.width()) / scale, static_cast<float>(m_pixels.height()) / scale});
        drawOnPaper(view, canvas);
        rasterise(m_list, pixelsOf(image), qRgb(255, 255, 255), {0, 0, image.width(), image.height()});
        return [this, image] {
            told(m_path,
                 [&] { m_encoder->add(reinterpret_cast<const std::uint32_t*>(image.constBits()), image.bytesPerLine()); });
        };
    }

    void finish() override
    {
        told(m_path, [this] { m_encoder->finish(); });
        m_encoder.reset();
        m_part.putInPlace();
    }

private:
    QString m_path;
    UnfinishedFile m_part; ///< before the encoder, which ends first
    QSize m_pixels;
    DrawList m_list;
    std::unique_ptr<FilmEncoder> m_encoder;
};

/// "step.svg" becomes step-0001.svg, step-0002.svg …, all of them at the end: the frames of a film of that name stay until then.
class NumberedFilm final : public FilmFile {
public:
    NumberedFilm(const QString& path, const FigureShape& shape, int frames) : m_path(path), m_shape(shape), m_mark(path)
    {
        constexpr qsizetype kLongestName = 255; // bytes
        if (QFile::encodeName(QFileInfo(frameFile(1)).fileName()).size() > kLongestName)
            throw sim::Error(path.toStdString() + ": names of its frames, which end in -0001.svg, would be too long");
        for (qsizetype of = 1; of <= frames; ++of)
            if (QFile::exists(frameFile(of)) && !isFrame(frameFile(of)))
                throw sim::Error(frameFile(of).toStdString() +
                                 ": is there already, and is no frame of a film: choose another name");
    }
    ~NumberedFilm() override
    {
        for (const QString& file : m_written)
            QFile::remove(UnfinishedFile::nameFor(file)); // of those that have their names by now there is none
    }
    std::function<void()> draw(View& view) override
    {
        QByteArray frame = figureBytes(view, FigureFormat::svg, m_shape);
        frame.insert(frame.indexOf('\n') + 1, kFrameMark);
        return [this, bytes = std::move(frame)] {
            const QString path = frameFile(m_written.size() + 1);
            saveWhole(UnfinishedFile::nameFor(path), bytes);
            m_written << path;
        };
    }
    void finish() override
    {
        for (const QString& file : m_written)
            putInPlace(UnfinishedFile::nameFor(file), file);
        // The end of a longer film of that name; what else is called so is somebody's.
        for (qsizetype of = m_written.size() + 1; isFrame(frameFile(of)) && QFile::remove(frameFile(of));)
            ++of;
    }

private:
    static constexpr const char* kFrameMark = "<!-- frame of a film -->\n";
    static bool isFrame(const QString& path)
    {
        constexpr qint64 kBegin = 512;
        QFile file(path);
        return file.open(QIODevice::ReadOnly) && file.read(kBegin).contains(kFrameMark);
    }
    QString frameFile(qsizetype number) const
    {
        constexpr int kDigits = 4;
        const QFileInfo file(m_path);
        return file.dir().filePath(file.completeBaseName() +
                                   QStringLiteral("-%1.svg").arg(number, kDigits, 10, QLatin1Char('0')));
    }

    QString m_path;
    FigureShape m_shape;
    UnfinishedFile m_mark; ///< empty: says whose the frames are
    QStringList m_written;
};

} // namespace

const char* filmEnding(FilmEnding ending)
{
    switch (ending) {
    case FilmEnding::mp4:
        return "mp4";
    case FilmEnding::webm:
        return "webm";
    case FilmEnding::gif:
        return "gif";
    case FilmEnding::svg:
        return "svg";
    }
    return "";
}

std::optional<FilmEnding> filmEndingOf(const QString& path)
{
    for (const FilmEnding ending : kFilmEndings)
        if (path.endsWith(QLatin1Char('.') + QLatin1String(filmEnding(ending)), Qt::CaseInsensitive))
            return ending;
    return {};
}

QString whyNoFilm(FilmEnding ending)
{
    return ending == FilmEnding::svg ? QString() : filmModule().second;
}

int highestFrameRate(FilmEnding ending)
{
    constexpr int kOfGif = 50;
    return ending == FilmEnding::gif ? kOfGif : kMostFramesPerSecond;
}

std::unique_ptr<FilmFile> openFilm(const QString& path, const FigureShape& shape, FilmLength length)
{
    const auto ending = filmEndingOf(path);
    if (!ending)
        throw sim::Error(path.toStdString() + ": a film is a .mp4, .webm or .gif file, or numbered .svg files");
    if (const QString why = whyNoFilm(*ending); !why.isEmpty())
        throw sim::Error(path.toStdString() + ": " + why.toStdString());
    if (*ending == FilmEnding::svg)
        return std::make_unique<NumberedFilm>(path, shape, length.frames);
    return std::make_unique<EncodedFilm>(path, *ending, shape, length.framesPerSecond);
}

} // namespace app
