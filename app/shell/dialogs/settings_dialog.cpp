#include "app/shell/dialogs/settings_dialog.h"

#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/decimal_box.h"
#include "app/shell/widgets/style.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace app {
namespace {

constexpr std::array kAutosaveSeconds{1, 5, 30, 120};
constexpr double kPriceStep = 0.1;

template <typename T>
void choose(QComboBox& box, T value)
{
    box.setCurrentIndex(std::max(0, box.findData(QVariant::fromValue(value))));
}

/// The nearest size that is offered.
int offered(int percent)
{
    return *std::min_element(kTextSizes.begin(), kTextSizes.end(),
                             [&](int a, int b) { return std::abs(a - percent) < std::abs(b - percent); });
}

void addHeading(QFormLayout& form, const QString& text)
{
    auto* label = new QLabel(text.toUpper());
    setRole(label, "section");
    label->setContentsMargins(0, form.rowCount() > 0 ? 16 : 0, 0, 0);
    form.addRow(label);
}

} // namespace

SettingsDialog::SettingsDialog(const Settings& settings, const QStringList& languages, QWidget* parent)
    : QDialog(parent), m_motion(new QCheckBox(tr("Reduce motion: nothing moves by itself"))), m_price(new DecimalBox)
{
    setWindowTitle(tr("Settings"));
    const QString later = tr("from the next start");
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setHorizontalSpacing(24);
    form->setVerticalSpacing(10);

    addHeading(*form, tr("Appearance"));
    m_theme = addChoice(*form, tr("Theme"));
    m_theme->addItem(tr("As the desktop"), static_cast<int>(ThemeChoice::system));
    m_theme->addItem(tr("Light"), static_cast<int>(ThemeChoice::light));
    m_theme->addItem(tr("Dark"), static_cast<int>(ThemeChoice::dark));
    m_theme->addItem(tr("High contrast"), static_cast<int>(ThemeChoice::highContrast));
    m_size = addChoice(*form, tr("Text and controls"));
    for (const int percent : kTextSizes)
        m_size->addItem(tr("%1 %").arg(percent), percent);
    m_language = addChoice(*form, tr("Language"), later);
    m_language->addItem(tr("As the desktop"), QString());
    m_language->addItem(QStringLiteral("English"), QStringLiteral("en"));
    for (const QString& language : languages)
        m_language->addItem(QLocale(language).nativeLanguageName(), language);
    form->addRow(QString(), m_motion);

    addHeading(*form, tr("Pictures"));
    m_navigation = addChoice(*form, tr("Wheel"));
    m_navigation->addItem(tr("Scrolls, with Ctrl it zooms (Perfetto)"), static_cast<int>(NavigationStyle::perfetto));
    m_navigation->addItem(tr("Zooms, with Ctrl it scrolls (Tracy)"), static_cast<int>(NavigationStyle::tracy));
    m_renderer = addChoice(*form, tr("Drawn by"), later);
    m_renderer->addItem(tr("Whatever is faster here"), static_cast<int>(Renderer::automatic));
    m_renderer->addItem(tr("The graphics card (OpenGL)"), static_cast<int>(Renderer::openGl));
    m_renderer->addItem(tr("The processor"), static_cast<int>(Renderer::software));

    addHeading(*form, tr("Files"));
    m_autosave = addChoice(*form, tr("Keep unsaved work safe"));
    for (const int seconds : kAutosaveSeconds)
        m_autosave->addItem(seconds == 1 ? tr("1 second after a change") : tr("%1 seconds after a change").arg(seconds), seconds);

    QComboBox* cache = addChoice(*form, tr("Cache of a large recorded run"));
    cache->addItem(tr("Ask once it is read"), static_cast<int>(CacheChoice::ask));
    cache->addItem(tr("Keep one beside its files"), static_cast<int>(CacheChoice::always));
    cache->addItem(tr("Keep none"), static_cast<int>(CacheChoice::never));

    addHeading(*form, tr("Whole run"));
    m_price->setRange(0, kHighestGpuHourPrice);
    m_price->setDecimals(2);
    m_price->setSingleStep(kPriceStep);
    m_price->setSpecialValueText(tr("not told"));
    m_price->setAccessibleName(tr("Price of a GPU hour"));
    m_price->setToolTip(tr("In your currency: what the whole run costs then stands beside its days"));
    auto* priceLabel = new QLabel(tr("Price of a GPU hour"));
    priceLabel->setBuddy(m_price);
    form->addRow(priceLabel, m_price);

    auto* usual = new QPushButton(tr("Defaults"));
    usual->setToolTip(tr("Everything as it was when the program came"));
    usual->setAutoDefault(false);
    auto* close = new QPushButton(tr("Close"));
    close->setDefault(true);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(usual);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(24);
    column->addLayout(form);
    column->addStretch(1);
    column->addLayout(buttons);

    setSettings(settings);
    m_before = this->settings();
    for (QComboBox* box : {m_theme, m_size, m_language, m_navigation, m_renderer, m_autosave})
        connect(box, &QComboBox::currentIndexChanged, this, &SettingsDialog::tell);
    connect(m_motion, &QCheckBox::toggled, this, &SettingsDialog::tell);
    connect(m_price, &QDoubleSpinBox::valueChanged, this, &SettingsDialog::tell);
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
    // Asked of the page of a recorded run, too, and remembered by itself.
    choose(*cache, static_cast<int>(cacheChoice()));
    connect(cache, &QComboBox::currentIndexChanged, this,
            [cache] { setCacheChoice(static_cast<CacheChoice>(cache->currentData().toInt())); });
    connect(usual, &QPushButton::clicked, this, [this, cache] {
        setSettings({});
        choose(*cache, static_cast<int>(CacheChoice::ask));
    });
}

QComboBox* SettingsDialog::addChoice(QFormLayout& form, const QString& title, const QString& note)
{
    constexpr int kWidth = 280;
    auto* box = new ChoiceBox;
    box->setMinimumWidth(kWidth);
    box->setAccessibleName(title);
    auto* label = new QLabel(title);
    label->setBuddy(box);
    if (note.isEmpty()) {
        form.addRow(label, box);
        return box;
    }
    auto* noteLabel = new QLabel(note);
    setRole(noteLabel, "small");
    auto* field = new QVBoxLayout;
    field->setSpacing(2);
    field->addWidget(box);
    field->addWidget(noteLabel);
    form.addRow(label, field);
    return box;
}

Settings SettingsDialog::settings() const
{
    Settings out;
    out.theme = static_cast<ThemeChoice>(m_theme->currentData().toInt());
    out.sizePercent = m_size->currentData().toInt();
    out.language = m_language->currentData().toString();
    out.reduceMotion = m_motion->isChecked();
    out.navigation = static_cast<NavigationStyle>(m_navigation->currentData().toInt());
    out.renderer = static_cast<Renderer>(m_renderer->currentData().toInt());
    out.autosaveSeconds = m_autosave->currentData().toInt();
    out.gpuHourPrice = m_price->value();
    return out;
}

void SettingsDialog::askForPrice()
{
    m_price->setFocus();
    m_price->selectAll();
}

void SettingsDialog::setSettings(const Settings& settings)
{
    choose(*m_theme, static_cast<int>(settings.theme));
    m_price->setValue(settings.gpuHourPrice);
    choose(*m_size, offered(settings.sizePercent));
    choose(*m_language, settings.language);
    m_motion->setChecked(settings.reduceMotion);
    choose(*m_navigation, static_cast<int>(settings.navigation));
    choose(*m_renderer, static_cast<int>(settings.renderer));
    choose(*m_autosave, settings.autosaveSeconds);
}

void SettingsDialog::tell()
{
    if (settings() == m_before)
        return;
    m_before = settings();
    Q_EMIT changed(m_before);
}

} // namespace app
