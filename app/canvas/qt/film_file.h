// Frames of a view as a file: MP4, WebM or GIF through the module rankscope_film, or numbered SVGs without it. Written whole or
// not at all: a film that is not finished leaves nothing behind, and an old file of its name as it was.
#pragma once

#include "app/canvas/qt/figure.h"
#include "app/canvas/view.h"

#include <QString>

#include <array>
#include <functional>
#include <memory>
#include <optional>

namespace app {

enum class FilmEnding { mp4, webm, gif, svg };
inline constexpr std::array kFilmEndings{FilmEnding::mp4, FilmEnding::webm, FilmEnding::gif, FilmEnding::svg};
const char* filmEnding(FilmEnding); ///< "mp4"
/// By the ending of a file's name.
std::optional<FilmEnding> filmEndingOf(const QString& path);
inline constexpr int kMostFramesPerSecond = 120;
/// A GIF tells times in hundredths of a second, and players show a picture that is to stay for one of them for ten.
int highestFrameRate(FilmEnding);
/// Why films of that kind cannot be made here; empty where they can.
QString whyNoFilm(FilmEnding);

struct FilmLength {
    int frames = 0, framesPerSecond = 30;
};

class FilmFile {
public:
    virtual ~FilmFile() = default; ///< removes what was not finished
    /// Draws a frame, on the window's thread, and returns what is left to be done on any one: encode and write it. What is
    /// returned is called in the order of the frames, one at a time, while the file lives.
    virtual std::function<void()> draw(View&) = 0;
    virtual void finish() = 0; ///< on any thread, after the last frame
};

/// Frames have an even number of pixels each way, as encoders need it. Throws sim::Error, as all that it returns do.
std::unique_ptr<FilmFile> openFilm(const QString& path, const FigureShape&, FilmLength);

} // namespace app
