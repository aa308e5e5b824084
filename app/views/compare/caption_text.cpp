#include "app/views/compare/caption_text.h"

#include "app/views/common/labels.h"

namespace app {

std::string captionThatFits(Canvas& canvas, const std::vector<std::string>& longestFirst, const std::string& name, float width)
{
    if (std::string text = fitting(canvas, longestFirst, width, FontFace::small); !text.empty())
        return text;
    for (std::size_t space = name.find(' '); space != std::string::npos; space = name.find(' ', space + 1))
        if (const std::string end = "…" + name.substr(space); canvas.textWidth(end, FontFace::small) <= width)
            return end;
    return {};
}

} // namespace app
