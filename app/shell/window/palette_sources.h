// What the command palette finds besides commands and ranks.
#pragma once

#include "app/session/gallery.h"
#include "app/session/help.h"
#include "app/session/presets.h"
#include "app/shell/dialogs/command_palette.h"
#include "app/step/selection.h"

#include <QStringList>

#include <functional>
#include <string_view>
#include <vector>

namespace app {

/// Recent files first, then those of the gallery; best matches first, a few of each.
std::vector<PaletteEntry> findFiles(const QString& typed, const QStringList& recent, const std::vector<GalleryEntry>& gallery,
                                    const std::function<void(const QString& path)>& open);
/// Whether a span has that in its name, or may be that action ("0F3").
bool hasSpansCalled(const QString& typed, const sim::Trace&);
/// Spans of that name ("0F3", or "F3" of any stage; "find" may stand before it), the first of each track; a few.
std::vector<PaletteEntry> findSpans(const QString& typed, const sim::Trace&, const std::function<void(SpanRef)>& select);
/// Families of schedules whose title or whose word in the file answers what was typed.
std::vector<PaletteEntry> findSchedules(const QString& typed, const std::function<void(std::string_view kind)>& choose);
/// What-ifs whose name answers what was typed.
/// Terms and sections of the manual by what they are called, and the settings that decide them or are called so.
std::vector<PaletteEntry> findHelp(const QString& typed, const Help&, const std::function<void(const QString& title)>& show);
std::vector<PaletteEntry> findSettings(const QString& typed, const Help&,
                                       const std::function<void(const QString& pointer)>& show);
/// The price of a GPU hour, which is no setting of a scenario, by what money is called.
std::vector<PaletteEntry> findPrice(const QString& typed, const Help&, const std::function<void()>& ask);
std::vector<PaletteEntry> findWhatIfs(const QString& typed, const std::vector<Preset>&,
                                      const std::function<void(const Preset&)>& perform);

} // namespace app
