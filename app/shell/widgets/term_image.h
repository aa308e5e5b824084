// The drawing of a glossary's term as an image, and as a piece of HTML for a tooltip or a page.
#pragma once

#include "app/session/help.h"
#include "app/views/common/theme.h"
#include "app/views/glossary/term_picture.h"

#include <QImage>
#include <QString>

namespace app {

/// Throws sim::Error where the glossary's file says it wrongly.
TermPicture termPictureOf(const HelpEntry&);
/// At twice its size, so that it is sharp on dense screens. An entry without a picture, or with a wrong one, has a null image.
QImage termImage(const HelpEntry&, const Theme&);
/// <img …>, no wider than that; empty where there is no image.
QString termImageHtml(const HelpEntry&, const Theme&, int widest = static_cast<int>(kTermPictureWidth));

} // namespace app
