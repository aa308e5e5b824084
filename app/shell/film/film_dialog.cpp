#include "app/shell/film/film_dialog.h"

#include "app/canvas/qt/figure_size.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/decimal_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace app {
namespace {

constexpr QSize kLargeSlide{1920, 1080}, kSmallSlide{1280, 720};
constexpr std::array kRates{10, 20, 25, 30, 60};
constexpr int kUsualRate = 30;
constexpr double kShortest = 1, kLongest = 120, kUsual = 10; ///< seconds
constexpr double kFilmShare = 0.5;                           ///< of the dots that print has

/// Sizes on paper are those of figures, with half their dots an inch.
FigureShape paperShape(FigureSize size)
{
    FigureShape shape = shapeOf(size, kLargeSlide, usualSize(size, kLargeSlide));
    shape.pngScale *= kFilmShare;
    return shape;
}

} // namespace

FilmDialog::FilmDialog(StepFilm film, const QString& fileName, const Theme& ofScreen, QWidget* parent)
    : QDialog(parent), m_film(std::move(film)), m_theme(ofScreen), m_fileName(fileName), m_pictures(new ChoiceBox),
      m_size(new ChoiceBox), m_format(new ChoiceBox), m_rate(new ChoiceBox), m_seconds(new DecimalBox), m_facts(new QLabel),
      m_failure(new QLabel), m_progress(new QProgressBar), m_close(new QPushButton), m_save(new QPushButton(tr("Film…")))
{
    setWindowTitle(tr("Export Film"));
    m_pictures->addItem(tr("Rank grid and timeline"), -1);
    for (const PictureInfo& info : pictures())
        if (m_film.offered.empty() || std::count(m_film.offered.begin(), m_film.offered.end(), info.picture) > 0)
            m_pictures->addItem(tr(info.title), static_cast<int>(info.picture));
    m_size->addItem(tr("Slide, 1920 × 1080"));
    m_size->addItem(tr("Small slide, 1280 × 720"));
    m_size->addItem(tr("Paper, one column"));
    m_size->addItem(tr("Paper, two columns"));
    m_format->addItem(tr("MP4, for slides and players"), static_cast<int>(FilmEnding::mp4));
    m_format->addItem(tr("WebM, for the web"), static_cast<int>(FilmEnding::webm));
    m_format->addItem(tr("GIF, for chats"), static_cast<int>(FilmEnding::gif));
    m_format->addItem(tr("Numbered SVGs, for papers"), static_cast<int>(FilmEnding::svg));
    for (const int rate : kRates)
        m_rate->addItem(QString::number(rate), rate);
    m_rate->setCurrentIndex(m_rate->findData(kUsualRate));
    m_seconds->setRange(kShortest, kLongest);
    m_seconds->setDecimals(0);
    m_seconds->setValue(kUsual);
    m_seconds->setSuffix(tr(" s"));
    m_facts->setWordWrap(true);
    m_failure->setWordWrap(true);
    setRole(m_facts, "small");
    setRole(m_failure, "error");
    setRole(m_save, "primary");
    m_save->setDefault(true);
    m_close->setAutoDefault(false);
    m_progress->setAccessibleName(tr("Frames"));

    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("Picture"), m_pictures);
    form->addRow(tr("Size"), m_size);
    form->addRow(tr("Length"), m_seconds);
    form->addRow(tr("Frames a second"), m_rate);
    form->addRow(tr("Format"), m_format);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_close);
    buttons->addStretch(1);
    buttons->addWidget(m_save);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(10);
    column->addLayout(form);
    column->addWidget(m_facts);
    column->addWidget(m_failure);
    column->addWidget(m_progress);
    column->addLayout(buttons);
    setMinimumWidth(420);

    for (QComboBox* box : {m_pictures, m_size, m_format, m_rate})
        connect(box, &QComboBox::currentIndexChanged, this, &FilmDialog::refresh);
    connect(m_seconds, &QDoubleSpinBox::valueChanged, this, &FilmDialog::refresh);
    connect(m_close, &QPushButton::clicked, this, &FilmDialog::reject);
    connect(m_save, &QPushButton::clicked, this, &FilmDialog::chooseFile);
    connect(&m_maker, &FilmMaker::progressed, this, [this](int frames, int of) {
        m_progress->setMaximum(of);
        m_progress->setValue(frames);
    });
    connect(&m_maker, &FilmMaker::finished, this, [this](const QString& path, const QString& failure) {
        refresh();
        m_failure->setText(failure);
        if (failure.isEmpty()) {
            Q_EMIT saved(path);
            accept();
        } else {
            Q_EMIT failed(path, failure);
        }
    });
    refresh();
}

FilmEnding FilmDialog::ending() const
{
    return static_cast<FilmEnding>(m_format->currentData().toInt());
}

FilmPlan FilmDialog::plan() const
{
    const std::array shapes{filmShape(kLargeSlide), filmShape(kSmallSlide), paperShape(FigureSize::column),
                            paperShape(FigureSize::doubleColumn)};
    return {.path = {},
            .shape = shapes[static_cast<std::size_t>(m_size->currentIndex())],
            .span = m_film.span,
            .seconds = m_seconds->value(),
            .framesPerSecond = std::min(m_rate->currentData().toInt(), highestFrameRate(ending()))};
}

void FilmDialog::refresh()
{
    const bool isBusy = m_maker.isBusy();
    const QString why = whyNoFilm(ending());
    const FilmPlan film = plan();
    const QSize pixels = pngPixelsOf(film.shape);
    const double slower =
        film.seconds * 1e9 / static_cast<double>(std::max<std::int64_t>(1, film.span.endNs - film.span.beginNs));
    const QString most = film.framesPerSecond < m_rate->currentData().toInt()
                             ? tr("; a GIF has at most %1 frames a second").arg(film.framesPerSecond)
                             : QString();
    m_facts->setText(why.isEmpty() ? tr("%1 frames of %2 × %3 pixels; time passes %4 times %5 than in the step")
                                             .arg(separated(film.frames()), separated(pixels.width()), separated(pixels.height()),
                                                  shortNumber(slower >= 1 ? slower : 1 / slower),
                                                  slower >= 1 ? tr("slower") : tr("faster")) +
                                         most
                                   : why);
    for (QWidget* control : std::initializer_list<QWidget*>{m_pictures, m_size, m_format, m_rate, m_seconds})
        control->setEnabled(!isBusy);
    m_save->setEnabled(!isBusy && why.isEmpty());
    m_close->setText(isBusy ? tr("Cancel") : tr("Close"));
    m_progress->setVisible(isBusy);
}

void FilmDialog::chooseFile()
{
    const QString suffix = QLatin1String(filmEnding(ending()));
    const QString path = chooseSaveFile(this, tr("Export Film"), QStringLiteral("%1.%2").arg(m_fileName, suffix),
                                        tr("%1 films (*.%2)").arg(suffix.toUpper(), suffix), FileEnding::required);
    if (path.isEmpty())
        return;
    film(path);
}

void FilmDialog::film(const QString& path)
{
    m_failure->clear();
    FilmPlan made = plan();
    made.path = path;
    StepFilm scene = m_film;
    const int only = m_pictures->currentData().toInt();
    scene.pictures = only < 0 ? std::vector{Picture::grid, Picture::timeline} : std::vector{static_cast<Picture>(only)};
    m_progress->setRange(0, 0); // until the first frame
    m_maker.start(made, [scene = std::move(scene), &theme = m_theme] { return makeScene(scene, theme); });
    refresh();
}

void FilmDialog::cancel()
{
    m_maker.cancel();
    refresh();
}

void FilmDialog::reject()
{
    if (!m_maker.isBusy())
        return QDialog::reject();
    cancel();
}

} // namespace app
