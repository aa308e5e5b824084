// Frames into a film file: the module rankscope_film.so, which needs FFmpeg's libraries. The program loads it when the first film
// is made, and starts the same where it is missing. No Qt.
#pragma once

#include <cstddef>
#include <cstdint>

namespace app {

struct FilmFormat {
    const char* path = nullptr;   ///< file to write
    const char* ending = nullptr; ///< "mp4" (H.264), "webm" (VP9), "gif"
    int width = 0, height = 0;    ///< pixels; even, but for GIF
    int framesPerSecond = 30;
};

/// All throw std::runtime_error with what FFmpeg says. Files that are not finished are of no use.
class FilmEncoder {
public:
    virtual ~FilmEncoder() = default;
    /// 0xAARRGGBB from the top left; stride in bytes.
    virtual void add(const std::uint32_t* pixels, std::ptrdiff_t stride) = 0;
    virtual void finish() = 0;
};

inline constexpr const char* kFilmModule = "rankscope_film";
inline constexpr const char* kFilmEntry = "rankscopeOpenFilm";
using OpenFilmEncoder = FilmEncoder* (*)(const FilmFormat&); ///< the caller's

} // namespace app
