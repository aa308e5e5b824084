// A picture as a figure: size, colours, title and caption, seen before it is saved or copied.
#pragma once

#include "app/canvas/qt/figure_size.h"
#include "app/session/settings.h"
#include "app/shell/widgets/figure_source.h"
#include "app/views/common/captioned_view.h"

#include <QDialog>
#include <QString>

#include <vector>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QMimeData;
class QPlainTextEdit;

namespace app {

class FigurePreview;

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    struct Words {
        QString title, caption, fileName; ///< the file's without its ending
    };
    /// The views outlive the dialog and have the theme of the screen. `first`: the place of the source that is shown at first.
    ExportDialog(std::vector<FigureSource>, int first, Words, const Theme& ofScreen, QWidget* parent = nullptr);

    /// The views show something else now: what nobody has typed is of that.
    void setWords(const Words&);
    FigureShape shape() const;
    FigureFormat format() const;
    /// Throws sim::Error.
    void save(const QString& path);
    void copy();

Q_SIGNALS:
    void saved(const QString& path);
    void copied();
    void failed(const QString& path, const QString& reason);

private:
    QWidget* makeControls();
    void sizeChanged();
    void refresh();
    void chooseFile();
    const FigureSource& source() const;
    CaptionedView::Words written() const;
    QSize onScreen() const; ///< the picture as large as there, its words around it
    FigureSize size() const;
    /// Calls with the figure's view, which has the theme of the figure meanwhile.
    template <typename Draw>
    auto withFigure(Draw) const;

    std::vector<FigureSource> m_sources;
    const Theme& m_screenTheme;
    Words m_given;
    FigurePreview* m_preview;
    QComboBox *m_picture, *m_size, *m_theme, *m_format;
    QDoubleSpinBox *m_width, *m_height;
    QCheckBox *m_hasTitle, *m_hasCaption;
    QLineEdit* m_title;
    QPlainTextEdit* m_caption;
    QLabel *m_facts, *m_failure;
    bool m_isFilling = false; ///< controls follow each other: one picture at the end
};

/// For the clipboard: as pixels and as SVG.
QMimeData* figureMimeData(View&, const FigureShape&);

} // namespace app
