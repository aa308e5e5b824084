#include "app/shell/dialogs/export_dialog.h"

#include "app/canvas/qt/fonts.h"
#include "app/canvas/svg_canvas.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/decimal_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "sim/error.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGuiApplication>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace app {
namespace {

constexpr double kSmallestPixels = 200, kLargestPixels = 8192, kSmallestInches = 0.8, kLargestInches = 12;
constexpr int kControlsWidth = 272;
const QString kSizeKey = QStringLiteral("figure/size");
const QString kThemeKey = QStringLiteral("figure/theme");
const QString kFormatKey = QStringLiteral("figure/format");
const QString kTitleKey = QStringLiteral("figure/title");
const QString kCaptionKey = QStringLiteral("figure/caption");

QString sizeTitle(FigureSize size)
{
    return QCoreApplication::translate("FigureSize", ruleOf(size).title);
}

} // namespace

/// The figure as large as there is room for, at the sharpness of the screen.
class FigurePreview : public QWidget {
public:
    explicit FigurePreview(std::function<QImage(QSize most, qreal ratio)> draw) : m_draw(std::move(draw))
    {
        setMinimumSize(280, 200); // with the settings beside it, on a small screen at large text
        setAccessibleName(ExportDialog::tr("Preview"));
    }
    void refresh()
    {
        m_image = {};
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        constexpr int kMargin = 24;
        const QSize most = size() - QSize(2 * kMargin, 2 * kMargin);
        if (m_image.isNull() && !most.isEmpty())
            m_image = m_draw(most, devicePixelRatioF());
        if (m_image.isNull())
            return;
        m_image.setDevicePixelRatio(devicePixelRatioF());
        const QSizeF shown = m_image.deviceIndependentSize();
        const QPointF at(qRound((width() - shown.width()) / 2), qRound((height() - shown.height()) / 2));
        QPainter painter(this);
        painter.drawImage(at, m_image);
        painter.setPen(QPen(palette().color(QPalette::Mid), 1));
        painter.drawRect(QRectF(at, shown).adjusted(-0.5, -0.5, 0.5, 0.5));
    }
    void resizeEvent(QResizeEvent*) override { m_image = {}; }

private:
    std::function<QImage(QSize, qreal)> m_draw;
    QImage m_image;
};

QMimeData* figureMimeData(View& view, const FigureShape& shape)
{
    auto* data = new QMimeData;
    data->setImageData(figureImage(view, shape.logical, shape.pngScale));
    data->setData(QStringLiteral("image/svg+xml"), figureBytes(view, FigureFormat::svg, shape));
    return data;
}

template <typename Draw>
auto ExportDialog::withFigure(Draw draw) const
{
    struct Themed {
        const FigureSource& source;
        const Theme& after;
        ~Themed() { source.setTheme(after); }
    };
    const Theme& theme = themeFor(static_cast<ThemeChoice>(m_theme->currentData().toInt()));
    source().setTheme(theme);
    const Themed untilDrawn{source(), m_screenTheme};
    CaptionedView figure(*source().view, theme, written());
    return draw(static_cast<View&>(figure));
}

ExportDialog::ExportDialog(std::vector<FigureSource> sources, int first, Words words, const Theme& ofScreen, QWidget* parent)
    : QDialog(parent), m_sources(std::move(sources)), m_screenTheme(ofScreen), m_given(std::move(words)),
      m_preview(new FigurePreview([this](QSize most, qreal ratio) {
          return withFigure([&](View& view) {
              const QSizeF logical = shape().logical;
              const qreal fit = std::min({most.width() / logical.width(), most.height() / logical.height(), 2.0});
              return figureImage(view, shape().logical, fit * ratio);
          });
      }))
{
    setWindowTitle(tr("Export Figure"));
    resize(1060, 640);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(m_preview, 1);
    row->addWidget(makeControls());

    m_isFilling = true;
    const QSettings remembered = userSettings();
    m_size->setCurrentIndex(std::max(0, m_size->findData(remembered.value(kSizeKey, 0).toInt())));
    m_theme->setCurrentIndex(std::max(0, m_theme->findData(remembered.value(kThemeKey, 0).toInt())));
    m_format->setCurrentIndex(std::max(0, m_format->findData(remembered.value(kFormatKey, 0).toInt())));
    m_hasTitle->setChecked(remembered.value(kTitleKey, true).toBool());
    m_hasCaption->setChecked(remembered.value(kCaptionKey, true).toBool());
    m_picture->setCurrentIndex(first);
    m_isFilling = false;
    sizeChanged();
}

QWidget* ExportDialog::makeControls()
{
    m_picture = new ChoiceBox;
    m_size = new ChoiceBox;
    m_theme = new ChoiceBox;
    m_format = new ChoiceBox;
    m_width = new DecimalBox;
    m_height = new DecimalBox;
    m_hasTitle = new QCheckBox(tr("Title"));
    m_hasCaption = new QCheckBox(tr("Caption"));
    m_title = new QLineEdit(m_given.title);
    m_caption = new QPlainTextEdit(m_given.caption);
    m_given.caption = m_caption->toPlainText();
    m_facts = new QLabel;
    m_failure = new QLabel;
    for (const FigureSource& each : m_sources)
        m_picture->addItem(each.title);
    for (const FigureSize each : kFigureSizes)
        m_size->addItem(sizeTitle(each), static_cast<int>(each));
    m_theme->addItem(tr("Light"), static_cast<int>(ThemeChoice::light));
    m_theme->addItem(tr("Dark"), static_cast<int>(ThemeChoice::dark));
    m_theme->addItem(tr("High contrast"), static_cast<int>(ThemeChoice::highContrast));
    m_format->addItem(tr("SVG, for web and editing"), static_cast<int>(FigureFormat::svg));
    m_format->addItem(tr("PDF, for papers"), static_cast<int>(FigureFormat::pdf));
    m_format->addItem(tr("PNG, pixels"), static_cast<int>(FigureFormat::png));
    for (QDoubleSpinBox* box : {m_width, m_height})
        box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_title->setAccessibleName(tr("Title"));
    m_caption->setAccessibleName(tr("Caption"));
    m_caption->setTabChangesFocus(true);
    m_caption->setFixedHeight(84);
    m_facts->setWordWrap(true);
    m_failure->setWordWrap(true);
    setRole(m_facts, "small");
    setRole(m_failure, "error");

    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setVerticalSpacing(8);
    form->addRow(tr("Picture"), m_picture);
    form->addRow(tr("Size"), m_size);
    form->addRow(tr("Width"), m_width);
    form->addRow(tr("Height"), m_height);
    form->addRow(tr("Colours"), m_theme);
    form->addRow(tr("Format"), m_format);
    auto* copyButton = new QPushButton(tr("Copy"));
    copyButton->setToolTip(tr("As pixels and as SVG, for whatever you paste into"));
    auto* saveButton = new QPushButton(tr("Save…"));
    setRole(saveButton, "primary");
    saveButton->setDefault(true);
    auto* close = new QPushButton(tr("Close"));
    close->setAutoDefault(false);
    copyButton->setAutoDefault(false);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(close);
    buttons->addStretch(1);
    buttons->addWidget(copyButton);
    buttons->addWidget(saveButton);

    auto* side = new QFrame;
    setRole(side, "panel");
    side->setFixedWidth(kControlsWidth + 48);
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(8);
    column->addLayout(form);
    column->addSpacing(8);
    column->addWidget(m_hasTitle);
    column->addWidget(m_title);
    column->addWidget(m_hasCaption);
    column->addWidget(m_caption);
    column->addStretch(1);
    column->addWidget(m_failure);
    column->addWidget(m_facts);
    column->addSpacing(8);
    column->addLayout(buttons);

    connect(m_picture, &QComboBox::currentIndexChanged, this, &ExportDialog::sizeChanged);
    connect(m_size, &QComboBox::currentIndexChanged, this, &ExportDialog::sizeChanged);
    for (QComboBox* box : {m_theme, m_format})
        connect(box, &QComboBox::currentIndexChanged, this, &ExportDialog::refresh);
    for (QDoubleSpinBox* box : {m_width, m_height})
        connect(box, &QDoubleSpinBox::valueChanged, this, &ExportDialog::refresh);
    for (QCheckBox* box : {m_hasTitle, m_hasCaption})
        connect(box, &QCheckBox::toggled, this, &ExportDialog::refresh);
    connect(m_title, &QLineEdit::textChanged, this, &ExportDialog::refresh);
    connect(m_caption, &QPlainTextEdit::textChanged, this, &ExportDialog::refresh);
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(copyButton, &QPushButton::clicked, this, &ExportDialog::copy);
    connect(saveButton, &QPushButton::clicked, this, &ExportDialog::chooseFile);
    return side;
}

const FigureSource& ExportDialog::source() const
{
    return m_sources[static_cast<std::size_t>(m_picture->currentIndex())];
}

CaptionedView::Words ExportDialog::written() const
{
    return {m_hasTitle->isChecked() ? m_title->text().simplified().toStdString() : std::string(),
            m_hasCaption->isChecked() ? m_caption->toPlainText().simplified().toStdString() : std::string()};
}

QSize ExportDialog::onScreen() const
{
    const QSize picture = source().onScreen;
    const auto width = static_cast<float>(picture.width());
    SvgCanvas measures({0, 0, width, width}, printedType());
    const float around = CaptionedView(*source().view, m_screenTheme, written()).heightOfWords(measures, width);
    return picture + QSize(0, static_cast<int>(std::ceil(around)));
}

void ExportDialog::setWords(const Words& words)
{
    const bool ownTitle = m_title->text() != m_given.title, ownCaption = m_caption->toPlainText() != m_given.caption;
    m_given = words;
    if (!ownTitle)
        m_title->setText(words.title);
    if (!ownCaption) {
        m_caption->setPlainText(words.caption);
        m_given.caption = m_caption->toPlainText(); // which knows one kind of space
    }
    refresh();
}

FigureSize ExportDialog::size() const
{
    return static_cast<FigureSize>(m_size->currentData().toInt());
}

FigureFormat ExportDialog::format() const
{
    return static_cast<FigureFormat>(m_format->currentData().toInt());
}

FigureShape ExportDialog::shape() const
{
    return shapeOf(size(), onScreen(), {m_width->value(), m_height->value()});
}

/// Another size, or another picture of the same: its own lengths, in its own unit.
void ExportDialog::sizeChanged()
{
    if (m_isFilling)
        return;
    m_isFilling = true;
    const FigureSizeRule& rule = ruleOf(size());
    const QSizeF usual = usualSize(size(), onScreen());
    const bool inches = rule.unit == LengthUnit::inches;
    for (QDoubleSpinBox* box : {m_width, m_height}) {
        box->setDecimals(inches ? 2 : 0);
        box->setSingleStep(inches ? 0.05 : 10);
        box->setRange(inches ? kSmallestInches : kSmallestPixels, inches ? kLargestInches : kLargestPixels);
        box->setSuffix(inches ? tr(" in") : tr(" px"));
        box->setValue(box == m_width ? usual.width() : usual.height());
    }
    m_width->setEnabled(rule.choosesWidth);
    m_height->setEnabled(rule.choosesHeight);
    m_isFilling = false;
    refresh();
}

void ExportDialog::refresh()
{
    if (m_isFilling)
        return;
    m_failure->clear();
    m_title->setEnabled(m_hasTitle->isChecked());
    m_caption->setEnabled(m_hasCaption->isChecked());
    const FigureShape figure = shape();
    if (size() == FigureSize::screen) { // with another title it is another height
        const QSignalBlocker quiet(m_height);
        m_height->setValue(figure.logical.height());
    }
    const QSize pixels = pngPixelsOf(figure);
    const QSizeF inches = inchesOf(figure);
    const auto length = [](double value) { return QString::number(value, 'f', 2); };
    m_facts->setText(
        format() == FigureFormat::png
            ? tr("%1 × %2 pixels").arg(separated(pixels.width()), separated(pixels.height()))
            : tr("%1 × %2 in on paper, smallest text %3 pt")
                  .arg(length(inches.width()), length(inches.height()), QString::number(smallestTextPoints(figure), 'f', 1)));
    m_preview->refresh();
    QSettings settings = userSettings();
    settings.setValue(kSizeKey, m_size->currentData());
    settings.setValue(kThemeKey, m_theme->currentData());
    settings.setValue(kFormatKey, m_format->currentData());
    settings.setValue(kTitleKey, m_hasTitle->isChecked());
    settings.setValue(kCaptionKey, m_hasCaption->isChecked());
}

void ExportDialog::save(const QString& path)
{
    withFigure([&](View& view) { saveFigure(view, path, shape()); });
}

void ExportDialog::copy()
{
    try {
        QGuiApplication::clipboard()->setMimeData(withFigure([&](View& view) { return figureMimeData(view, shape()); }));
        Q_EMIT copied();
    } catch (const sim::Error& error) {
        m_failure->setText(QString::fromUtf8(error.what()));
        m_failure->show();
    }
}

void ExportDialog::chooseFile()
{
    const QString ending = QLatin1String(figureEnding(format()));
    const QString path =
        chooseSaveFile(this, tr("Save Figure"), QStringLiteral("%1-%2.%3").arg(m_given.fileName, source().fileName, ending),
                       tr("%1 pictures (*.%2)").arg(ending.toUpper(), ending), FileEnding::required);
    if (path.isEmpty())
        return;
    try {
        save(path);
        Q_EMIT saved(path);
        accept();
    } catch (const sim::Error& error) {
        m_failure->setText(QString::fromUtf8(error.what()));
        Q_EMIT failed(path, m_failure->text());
    }
}

} // namespace app
