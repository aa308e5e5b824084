#include "app/shell/widgets/style.h"

#include "app/views/common/color.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <QWidget>

#include <utility>
#include <vector>

namespace app {
namespace {

constexpr const char* kSheet = R"(
* { outline: none; }
QMainWindow, QDialog { background: @window; }
QMessageBox {
    messagebox-question-icon: url(@question); messagebox-information-icon: url(@question);
    messagebox-warning-icon: url(@warningIcon); messagebox-critical-icon: url(@warningIcon);
}
QDialog[role="popup"] { background: @panel; border: 1px solid @faint; }
QToolTip, QLabel[role="tip"] { background: @panel; color: @text; border: 1px solid @border; padding: 6px 8px; }

QMenuBar { background: @panel; border-bottom: 1px solid @border; padding: 2px 8px; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @panel; border: 1px solid @border; padding: 4px; }
QMenu::item { padding: 5px 28px 5px 24px; border-radius: 4px; }
QMenu::item:selected { background: @hover; }
QMenu::item:disabled { color: @muted; }
QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }

QToolBar { background: @panel; border: none; border-bottom: 1px solid @border; padding: 4px 8px; spacing: 2px; }
QToolBar::separator { width: 1px; background: @border; margin: 6px 6px; }
QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 4px 5px; color: @text; background: transparent; }
QToolButton:hover { background: @hover; }
QToolButton:checked { background: @hover; color: @accent; }
QToolButton:disabled { color: @faint; }
QToolButton[role="step"] { border: none; padding: 0; font-size: 15px; color: @muted; border-radius: 0; }
QToolButton[role="step"]:hover { color: @text; }
QToolButton[role="step"]:disabled { color: @border; background: transparent; }

QToolButton[role="link"] { color: @accent; padding: 0 3px; }
QToolButton[role="link"]:checked { background: transparent; }
QToolButton[role="link"]:focus { background: @hover; }
QToolButton[role="reset"] { border: none; color: @accent; font-size: 9px; padding: 0; border-radius: 3px; }
QToolButton[role="reset"]:focus { background: @hover; }
QToolButton::menu-indicator { image: none; }
QToolButton[role="find"] { background: @field; border: 1px solid @border; color: @muted; padding: 3px 12px; }
QToolButton[role="find"]:hover { border-color: @faint; }

QToolButton[role="button"], QToolButton[role="segmentLeft"], QToolButton[role="segmentRight"] { background: @field; border: 1px solid @border; padding: 4px 10px; }
QToolButton[role="button"]:hover, QToolButton[role="segmentLeft"]:hover, QToolButton[role="segmentRight"]:hover { background: @hover; }
QToolButton[role="segmentLeft"] { border-top-right-radius: 0; border-bottom-right-radius: 0; }
QToolButton[role="segmentRight"] { border-top-left-radius: 0; border-bottom-left-radius: 0; border-left: none; }
QToolButton[role="segmentLeft"]:checked, QToolButton[role="segmentRight"]:checked, QToolButton[role="button"]:checked { background: @hover; color: @accent; font-weight: 600; }
QToolButton[role="button"]:disabled { background: @panel; color: @faint; }
QToolButton:focus, QToolButton[role="button"]:focus, QToolButton[role="segmentLeft"]:focus, QToolButton[role="segmentRight"]:focus { border: 1px solid @accent; }
QToolButton[role="segmentRight"]:focus { border-left: none; }
QToolButton[role="step"]:focus, QToolButton[role="reset"]:focus { border: none; }

QStatusBar { background: @panel; border-top: 1px solid @border; color: @muted; font-size: 12px; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: @muted; font-size: 12px; padding: 0 8px; }
QStatusBar QLabel[role="told"] { padding: 0; }
QStatusBar QToolButton[role="error"] { color: @error; padding: 0 3px; }
QStatusBar QToolButton[role="warning"] { color: @warning; padding: 0 3px; }

QDockWidget { color: @muted; font-size: 11px; font-weight: 600; titlebar-close-icon: url(@close); titlebar-normal-icon: url(@float); }
QDockWidget::close-button, QDockWidget::float-button { background: transparent; border: none; padding: 2px; icon-size: 12px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: @hover; border-radius: 3px; }
QDockWidget::title { background: @panel; padding: 8px 16px 4px 16px; }
QDockWidget[role="picture"] { font-size: 12px; }
QDockWidget[role="picture"]::title { padding: 5px 12px 3px 12px; }
QMainWindow QTabBar { background: @panel; }
QMainWindow QTabBar::tab { min-width: 72px; }
QMainWindow QTabBar[role="narrow"]::tab { min-width: 0; padding: 5px 8px; }
QTabBar::tab { color: @muted; background: @panel; padding: 5px 12px; border: none; border-bottom: 2px solid transparent; font-size: 12px; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; font-weight: 600; }
QTabBar::tab:selected:focus { color: @accent; background: @hover; }
QTabBar::scroller { width: 44px; }
QTabBar QToolButton::left-arrow { image: url(@leftward); width: 14px; height: 14px; }
QTabBar QToolButton::right-arrow { image: url(@rightward); width: 14px; height: 14px; }
QTabBar::tear { width: 0; image: none; border: none; }
QTabBar::tab:hover { color: @text; background: @hover; }
QMainWindow::separator { background: @border; width: 1px; height: 1px; }
QSplitter::handle { background: @border; }
QSplitter::handle:vertical { height: 1px; }
QSplitter::handle:hover, QMainWindow::separator:hover { background: @accent; }

QScrollArea, QScrollArea > QWidget > QWidget { background: @panel; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar::handle:vertical { background: @border; border-radius: 3px; min-height: 32px; margin: 2px; }
QScrollBar::handle:vertical:hover { background: @faint; }
QScrollBar:horizontal { background: transparent; height: 10px; }
QScrollBar::handle:horizontal { background: @border; border-radius: 3px; min-width: 32px; margin: 2px; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page { background: none; width: 0; height: 0; }

QLabel { background: transparent; }
QLabel:focus { background: @hover; border-radius: 3px; }
QLabel[role="muted"] { color: @muted; }
QLabel[role="cover"] { color: @muted; background: @panel; }
QLabel[role="small"] { color: @muted; font-size: 11px; }
QLabel[role="section"] { color: @muted; font-size: 11px; font-weight: 600; }
QLabel[role="help"] { color: @muted; font-size: 11px; background: @panel; padding: 0 18px 0 22px; }
QLabel[role="group"] { font-size: 12px; font-weight: 600; padding-top: 6px; }
QLabel[role="prose"] { font-size: 15px; }
QLabel[role="heading"] { font-size: 14px; font-weight: 600; }
QLabel[role="title"] { font-size: 24px; font-weight: 600; }
QLabel[role="value"] { font-size: 20px; font-weight: 600; }
QLabel[role="hero"] { font-size: 28px; font-weight: 600; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="muted12"] { color: @muted; font-size: 12px; }
QLabel[role="formula"] { font-size: 13px; }
QLabel[role="because"] { color: @muted; font-size: 13px; font-weight: 600; }
QLabel[role="unit"] { color: @muted; font-size: 12px; }
QLabel[role="error"] { color: @error; font-size: 12px; }
QLabel[role="warning"] { color: @warning; font-size: 12px; }
QLabel[role="better"] { color: @better; font-size: 11px; font-weight: 600; }
QLabel[role="worse"] { color: @error; font-size: 11px; font-weight: 600; }
QLabel[role="changed"] { color: @muted; font-size: 11px; font-weight: 600; }
QLabel[against="baseline"] { border: 1px solid @faint; border-radius: 3px; padding: 1px 5px; }
QLabel[role="against"] { color: @muted; font-size: 11px; background: @window; border-radius: 4px; padding: 4px 8px; }
QFrame[role="banner"] { background: @bannerBack; border-bottom: 1px solid @error; }
QFrame[role="banner"] QScrollArea, QFrame[role="banner"] QScrollArea > QWidget > QWidget { background: transparent; }

QFrame[role="card"] { background: @card; border: 1px solid @border; border-radius: 6px; }
QWidget[marked="true"] { background: @hover; border-left: 3px solid @accent; border-radius: 0; }
QFrame[role="card"][explained="true"]:hover { border-color: @faint; background: @field; }
QFrame[role="card"][explained="true"]:focus { border-color: @accent; }
QFrame[role="stepper"] { background: @field; border: 1px solid @border; border-radius: 4px; }
QFrame[role="stepper"][focused="true"] { border-color: @accent; }
QFrame[role="stepper"][wrong="true"] { border-color: @error; }
QFrame[role="header"] { background: @panel; border-bottom: 1px solid @border; }
QFrame[role="transport"] { background: @panel; border-top: 1px solid @border; }
QFrame[role="transport"] QComboBox { border-color: transparent; background: transparent; color: @muted; min-height: 18px; padding: 0 3px; }
QFrame[role="transport"] QComboBox:focus { border-color: @accent; }
QLabel[role="time"] { color: @muted; font-size: 12px; }
QFrame[role="notice"] { background: @window; border-bottom: 1px solid @border; }
QFrame[role="panel"] { background: @panel; border-left: 1px solid @border; }
QFrame[role="side"] { background: @panel; border-right: 1px solid @border; }
QWidget[role="form"] { background: @panel; }
QWidget[role="foot"] { background: @panel; border-top: 1px solid @border; }
QFrame[role="page"] { background: @window; }
QScrollArea[role="clear"], QScrollArea[role="clear"] > QWidget > QWidget,
QScrollArea[role="clearPane"], QScrollArea[role="clearPane"] > QWidget > QWidget { background: transparent; }

QLineEdit, QComboBox { background: @field; border: 1px solid @border; border-radius: 4px; padding: 3px 8px; min-height: 20px; selection-background-color: @accent; selection-color: @accentText; }
QLineEdit:focus, QComboBox:focus, QFrame[role="stepper"]:focus { border-color: @accent; }
QComboBox:hover { border-color: @faint; }
QComboBox[wrong="true"] { border-color: @error; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(@chevron); width: 12px; height: 12px; }
QWidget QListView, QWidget QTableView { background: transparent; border: none; }
QComboBox QAbstractItemView { background: @panel; border: 1px solid @border; padding: 4px; selection-background-color: @hover; selection-color: @text; }
QLineEdit:disabled, QComboBox:disabled { background: @panel; color: @faint; }
QAbstractSpinBox { background: transparent; border: none; padding: 0; selection-background-color: @accent; selection-color: @accentText; }

QProgressBar[role="lesson"] { background: @faint; border: none; border-radius: 2px; }
QProgressBar[role="lesson"]::chunk { background: @accent; border-radius: 2px; }
QSlider:horizontal { min-height: 20px; }
QSlider::groove:horizontal { height: 4px; background: @border; border-radius: 2px; }
QSlider::sub-page:horizontal { height: 4px; background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -4px 0; border-radius: 6px; background: @panel; border: 2px solid @accent; }
QSlider::handle:horizontal:hover { background: @accent; }
QSlider::handle:horizontal:focus { background: @accent; }
QSlider::handle:horizontal:disabled { border-color: @border; background: @panel; }
QSlider::sub-page:horizontal:disabled { background: @border; }

QCheckBox { spacing: 8px; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid @faint; border-radius: 3px; background: @field; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent; image: url(@check); }
QCheckBox::indicator:focus { border-color: @accent; }
QRadioButton { spacing: 6px; }
QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid @faint; border-radius: 8px; background: @field; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid @accent; }
QRadioButton::indicator:focus { border-color: @accent; }
QCheckBox:disabled, QRadioButton:disabled, QWidget[role="form"] QLabel:disabled, QAbstractSpinBox:disabled { color: @faint; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { background: @panel; border-color: @border; }
QCheckBox::indicator:checked:disabled { background: @faint; border-color: @faint; }
QRadioButton::indicator:checked:disabled { border-color: @faint; }
QCheckBox, QRadioButton { border: 1px solid transparent; border-radius: 4px; }
QCheckBox:focus, QRadioButton:focus { border-color: @accent; }

QPushButton { background: @field; border: 1px solid @border; border-radius: 4px; padding: 5px 12px; }
QPushButton:hover { background: @hover; }
QPushButton:focus { border-color: @accent; }
QPushButton[role="primary"] { background: @accent; border-color: @accent; color: @accentText; font-weight: 600; }
QPushButton[role="primary"]:focus { border: 2px solid @text; padding: 4px 11px; }
QPushButton:disabled, QPushButton[role="primary"]:disabled { background: @panel; border-color: @border; color: @faint; }

QPushButton[role="try"] { padding: 0; text-align: left; }
QPushButton[role="link"] { background: transparent; border: 1px solid transparent; color: @accent; padding: 1px 3px; }
QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:focus { border-color: @accent; }
QPushButton[role="choice"] { background: transparent; border: 1px solid transparent; color: @muted; padding: 3px 8px; }
QPushButton[role="choice"]:hover { background: @hover; }
QPushButton[role="choice"]:checked { background: @hover; color: @accent; font-weight: 600; }
QPushButton[role="choice"]:focus { border-color: @accent; }

QSpinBox[role="field"], QDoubleSpinBox { background: @field; border: 1px solid @border; border-radius: 4px; padding: 3px 8px; min-height: 20px; }
QSpinBox[role="field"]:focus, QDoubleSpinBox:focus { border-color: @accent; }
QSpinBox[arrows="true"], QDoubleSpinBox { padding-right: 22px; }
QSpinBox[arrows="true"]::up-button, QDoubleSpinBox::up-button { subcontrol-origin: border; subcontrol-position: top right; width: 20px; border: none; background: transparent; }
QSpinBox[arrows="true"]::down-button, QDoubleSpinBox::down-button { subcontrol-origin: border; subcontrol-position: bottom right; width: 20px; border: none; background: transparent; }
QSpinBox[arrows="true"]::up-button:hover, QDoubleSpinBox::up-button:hover, QSpinBox[arrows="true"]::down-button:hover, QDoubleSpinBox::down-button:hover { background: @hover; }
QSpinBox[arrows="true"]::up-arrow, QDoubleSpinBox::up-arrow { image: url(@upward); width: 10px; height: 10px; }
QSpinBox[arrows="true"]::down-arrow, QDoubleSpinBox::down-arrow { image: url(@chevron); width: 10px; height: 10px; }
QTreeView[role="terms"] { background: transparent; border: none; border-top: 1px solid @border; font-size: 12px; }
QTreeView[role="terms"]::item { padding: 3px 6px 3px 0; min-height: 18px; }
QTreeView[role="terms"]::item:selected { background: @hover; color: @text; }
QListView[role="field"] { background: @field; border: 1px solid @border; border-radius: 4px; }
QListView[role="field"]:focus { border-color: @accent; }
QListView[role="choice"] { background: @field; border: 1px solid @border; border-radius: 4px; }
QListView[role="choice"]:focus { border-color: @accent; }
QListView[role="choice"]::item { border: none; border-left: 3px solid transparent; padding: 3px 6px; color: @text; }
QListView[role="choice"]::item:hover { background: @hover; }
QListView[role="choice"]::item:selected { background: @hover; border-left-color: @accent; }
QHeaderView { background: transparent; }
QHeaderView::section { background: transparent; color: @muted; border: none; border-bottom: 1px solid @border; padding: 2px 4px; font-size: 11px; }
QPlainTextEdit { background: @field; border: 1px solid @border; border-radius: 4px; padding: 4px; }
QPlainTextEdit:focus { border-color: @accent; }
QTableView[role="table"]::item { border: none; padding: 0 8px; }
QTableView[role="table"] QHeaderView::section { padding: 4px 8px; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QListView[role="plain"], QTableView[role="table"], QScrollArea[role="pane"], QScrollArea[role="clearPane"] { border: 1px solid transparent; }
QListView[role="plain"]:focus, QTableView[role="table"]:focus, QScrollArea[role="pane"]:focus, QScrollArea[role="clearPane"]:focus { border-color: @accent; }
QListView[role="plain"]::item { padding: 6px 8px; border-radius: 4px; }
QListView[role="plain"]::item:selected { background: @hover; color: @text; }
QListView[role="plain"]::item:hover { background: @hover; }
QListView[role="cards"]::item, QListView[role="actions"]::item {
    background: @field; border: 1px solid @border; border-radius: 4px; color: @text; margin: 1px; padding: 5px 4px;
}
QListView[role="actions"]::item { padding: 2px 0; margin: 0; }
QListView[role="cards"]::item:hover, QListView[role="actions"]::item:hover { background: @hover; }
QListView[role="cards"]::item:selected, QListView[role="actions"]::item:selected { border-color: @accent; background: @hover; }
)";

QColor mixed(const QColor& a, const QColor& b, qreal shareOfB)
{
    const auto mix = [&](int x, int y) { return qRound(x + (y - x) * shareOfB); };
    return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

QString styleSheet(const Theme& theme, const QString& assets)
{
    const QColor panel = toQColor(theme.panel), text = toQColor(theme.text), border = toQColor(theme.border),
                 accent = toQColor(theme.accent);
    const QColor error = toQColor(theme.error);
    const QColor accentText = toQColor(readableOn(theme.accent));
    const QString check =
        accentText.lightness() < 128 ? QStringLiteral("/icons/check-dark.svg") : QStringLiteral("/icons/check.svg");
    const QColor field = theme.dark ? mixed(panel, QColor(Qt::black), 0.18) : mixed(panel, QColor(Qt::white), 0.6);
    const QColor card = theme.dark ? mixed(panel, QColor(Qt::white), 0.025) : mixed(panel, QColor(Qt::white), 0.7);
    // Longest names first, so that no name is eaten by a shorter one it begins with.
    const std::vector<std::pair<QString, QString>> values{
        {QStringLiteral("@accentText"), accentText.name()},
        {QStringLiteral("@warningIcon"), assets + QStringLiteral("/icons/warning.svg")},
        {QStringLiteral("@question"), assets + QStringLiteral("/icons/question.svg")},
        {QStringLiteral("@bannerBack"), mixed(panel, error, 0.12).name()},
        {QStringLiteral("@rightward"), assets + QStringLiteral("/icons/chevron-right.svg")},
        {QStringLiteral("@leftward"), assets + QStringLiteral("/icons/chevron-left.svg")},
        {QStringLiteral("@upward"), assets + QStringLiteral("/icons/chevron-up.svg")},
        {QStringLiteral("@chevron"), assets + QStringLiteral("/icons/chevron.svg")},
        {QStringLiteral("@close"), assets + QStringLiteral("/icons/close.svg")},
        {QStringLiteral("@float"), assets + QStringLiteral("/icons/float.svg")},
        {QStringLiteral("@warning"), toQColor(theme.warning).name()},
        {QStringLiteral("@window"), toQColor(theme.window).name()},
        {QStringLiteral("@border"), border.name()},
        {QStringLiteral("@accent"), accent.name()},
        {QStringLiteral("@better"), betterColor(theme).name()},
        {QStringLiteral("@check"), assets + check},
        {QStringLiteral("@panel"), panel.name()},
        {QStringLiteral("@muted"), toQColor(theme.mutedText).name()},
        {QStringLiteral("@faint"), mixed(border, toQColor(theme.mutedText), 0.45).name()},
        {QStringLiteral("@field"), field.name()},
        {QStringLiteral("@hover"), mixed(panel, text, 0.08).name()},
        {QStringLiteral("@error"), error.name()},
        {QStringLiteral("@card"), card.name()},
        {QStringLiteral("@text"), text.name()},
    };
    QString sheet = QString::fromLatin1(kSheet);
    for (const auto& [name, value] : values)
        sheet.replace(name, value);
    return sheet;
}

QPalette palette(const Theme& theme)
{
    const QColor window = toQColor(theme.window), panel = toQColor(theme.panel), text = toQColor(theme.text),
                 muted = toQColor(theme.mutedText);
    QPalette p;
    p.setColor(QPalette::Window, window);
    p.setColor(QPalette::WindowText, text);
    p.setColor(QPalette::Base, panel);
    p.setColor(QPalette::AlternateBase, window);
    p.setColor(QPalette::Text, text);
    p.setColor(QPalette::PlaceholderText, muted);
    p.setColor(QPalette::Button, panel);
    p.setColor(QPalette::ButtonText, text);
    p.setColor(QPalette::ToolTipBase, panel);
    p.setColor(QPalette::ToolTipText, text);
    p.setColor(QPalette::Highlight, toQColor(theme.accent));
    p.setColor(QPalette::HighlightedText, toQColor(readableOn(theme.accent)));
    p.setColor(QPalette::Link, toQColor(theme.accent));
    p.setColor(QPalette::Mid, toQColor(theme.border));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, muted);
    return p;
}

} // namespace

QColor toQColor(Color c)
{
    const std::uint32_t v = c.value;
    return QColor(static_cast<int>(v & 0xFF), static_cast<int>((v >> 8) & 0xFF), static_cast<int>((v >> 16) & 0xFF),
                  static_cast<int>(v >> 24));
}

QColor betterColor(const Theme& theme)
{
    return theme.dark ? QColor(0x4c, 0xc3, 0x8a) : QColor(0x0a, 0x7a, 0x4f);
}

QFont uiFont(int pixels, QFont::Weight weight)
{
    static const bool hasInter = QFontDatabase::families().contains(QStringLiteral("Inter"));
    QFont font = hasInter ? QFont(QStringLiteral("Inter")) : QFontDatabase::systemFont(QFontDatabase::GeneralFont);
    font.setPixelSize(pixels);
    font.setWeight(weight);
    return font;
}

void applyStyle(const Theme& theme, const QString& assets)
{
    const QString sheet = styleSheet(theme, assets);
    if (qApp->styleSheet() == sheet)
        return; // every widget would be styled again, for nothing
    // Remembered: an application's style sheet hides the name of the style below it.
    static bool isFusion = false;
    if (!std::exchange(isFusion, true)) {
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
        QApplication::setFont(uiFont()); // once: it goes to every widget
    }
    // A sheet in place of another makes Qt style each widget once more for each that it lies in; where there is none between
    // them, once as the one goes and once as the other comes.
    qApp->setStyleSheet({});
    QApplication::setPalette(palette(theme));
    qApp->setStyleSheet(sheet);
}

QIcon themedIcon(const QString& assets, const QString& name, const Theme& theme)
{
    QFile file(assets + QStringLiteral("/icons/") + name + QStringLiteral(".svg"));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray source = file.readAll();
    constexpr int kSide = 16, kScale = 3; // sharp up to three device pixels a logical one
    const auto pixmap = [&](const QColor& color) {
        QSvgRenderer renderer(QByteArray(source).replace("currentColor", color.name().toLatin1()));
        QPixmap out(kSide * kScale, kSide * kScale);
        out.fill(Qt::transparent);
        QPainter painter(&out);
        renderer.render(&painter);
        return out;
    };
    QIcon icon;
    icon.addPixmap(pixmap(mixed(toQColor(theme.text), toQColor(theme.mutedText), 0.4)), QIcon::Normal);
    // Strong borders are no grey: there what can be pressed would look as what cannot.
    const bool isStrong = theme.name == highContrastTheme().name;
    icon.addPixmap(
        pixmap(mixed(toQColor(isStrong ? theme.panel : theme.border), toQColor(theme.mutedText), isStrong ? 0.4 : 0.3)),
        QIcon::Disabled);
    return icon;
}

void setRole(QWidget* widget, const char* role)
{
    if (widget->property("role").toByteArray() == role)
        return;
    widget->setProperty("role", QByteArray(role));
    if (!widget->testAttribute(Qt::WA_WState_Polished))
        return; // it will be before it is first shown
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

const Theme& themeFor(ThemeChoice choice)
{
    // Asked once, before the program's own palette hides the desktop's.
    static const bool systemIsDark = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
    if (choice == ThemeChoice::highContrast)
        return highContrastTheme();
    const bool dark = choice == ThemeChoice::dark || (choice == ThemeChoice::system && systemIsDark);
    return dark ? darkTheme() : lightTheme();
}

} // namespace app
