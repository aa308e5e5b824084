// What files say is shown as it is written: a toolkit that guesses takes a name like “<img src=…>” for HTML and reads what it
// points at, were it endless. The rule is in one place, so that no label has to remember it.
#pragma once

#include <QObject>

namespace app {

/// While it lives, a label that was not told what its text is, a message box's too, shows it plainly, and so does a tooltip that
/// is no paragraph of the program's.
class TextHabit : public QObject {
public:
    explicit TextHabit(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject*, QEvent*) override;
};

/// Markdown of a file for a label: HTML and pictures are words; readableMarkdown.
QString withoutHtml(QString markdown);
/// As it is; what has more marks than anybody writes is its words without them: Qt's reader takes time as their square, and lists
/// within lists without end.
QString readableMarkdown(QString markdown);

} // namespace app
