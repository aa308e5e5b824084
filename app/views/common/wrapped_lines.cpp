#include "app/views/common/wrapped_lines.h"

namespace app {

std::vector<std::string> wrappedLines(Canvas& canvas, std::string_view text, float width, FontFace face)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string word(text.substr(0, space));
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (!lines.empty() && canvas.textWidth(lines.back() + " " + word, face) <= width)
            lines.back() += " " + word;
        else
            lines.push_back(word);
    }
    return lines;
}

} // namespace app
