// A view with a title above it and a caption below it: how a picture is taken away as a figure.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"

#include <string>

namespace app {

class CaptionedView final : public View {
public:
    struct Words {
        std::string title, caption; ///< both empty: the picture alone, edge to edge
    };
    /// The view and the theme must outlive it; the view already has that theme.
    CaptionedView(View& picture, const Theme& theme, Words words);

    std::string title() const override;
    void draw(Canvas&) override;
    /// What title and caption take of a figure's height.
    float heightOfWords(Canvas&, float width) const;

private:
    View& m_picture;
    const Theme& m_theme;
    Words m_words;
};

} // namespace app
