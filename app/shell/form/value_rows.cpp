#include "app/shell/form/value_rows.h"

#include "app/shell/form/words_row.h"

#include <QCheckBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QStyle>

#include <algorithm>

namespace app {
namespace {

constexpr std::string_view kLayerTypes = "/model/layer_types";

} // namespace

ChoiceRow::ChoiceRow(const ScenarioKey& key, std::string pointer, const QString& what, std::vector<KeyOption> options,
                     QWidget* parent)
    : FormRow(key, std::move(pointer), what, parent), m_options(std::move(options)), m_nameIfMissing(tr("Own list"))
{
}

ChoiceBox* ChoiceRow::box()
{
    build();
    return m_box;
}

void ChoiceRow::buildControls()
{
    m_box = new ChoiceBox(this);
    m_box->setWhat(what());
    m_box->setMaxVisibleItems(24);
    m_box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_box->setMinimumContentsLength(8);
    for (const KeyOption& option : m_options)
        m_box->addItem(QString::fromStdString(option.text), QString::fromStdString(option.json));
    const bool isOfCatalogue = key().pointer == "/model" || key().pointer == "/cluster" || key().pointer == "/cluster/gpu";
    if (isOfCatalogue)
        putLabelAbove();
    addControl(m_box, 1);
    watch(m_box);
    connect(m_box, &QComboBox::activated, this, [this] { Q_EMIT chosen(m_box->currentData().toString(), 0); });
}

void ChoiceRow::present(const std::optional<std::string>& json)
{
    const QSignalBlocker quiet(m_box);
    const QString wanted = QString::fromStdString(json.value_or(""));
    int index = m_box->findData(wanted);
    const int own = m_box->count() - static_cast<int>(m_options.size());
    if (own > 0 && index != 0) { // what was not in the list is gone
        m_box->removeItem(0);
        index = m_box->findData(wanted);
    }
    if (index < 0) {
        const bool isWord = wanted.startsWith(QLatin1Char('"')) && wanted.size() > 2;
        m_box->insertItem(0, isWord ? QString::fromStdString(unquoted(*json)) : m_nameIfMissing, wanted);
        index = 0;
    }
    m_box->setCurrentIndex(index);
}

void ChoiceRow::presentLegalValues()
{
    const LegalValues& values = legalValues();
    const QBrush faint = palette().brush(QPalette::PlaceholderText);
    for (int i = 0; i < m_box->count(); ++i) {
        const std::string json = m_box->itemData(i).toString().toStdString();
        const auto refused =
            std::find_if(values.refused.begin(), values.refused.end(), [&](const Refusal& r) { return r.json == json; });
        const auto option = std::find_if(m_options.begin(), m_options.end(), [&](const KeyOption& o) { return o.json == json; });
        const bool isRefused = refused != values.refused.end();
        m_box->setItemData(i, isRefused ? QVariant(faint) : QVariant(), Qt::ForegroundRole);
        m_box->setItemData(i,
                           isRefused                   ? QString::fromStdString(refused->why)
                           : option != m_options.end() ? QString::fromStdString(option->what)
                                                       : QString(),
                           Qt::ToolTipRole);
    }
}

QString ChoiceRow::textOf(const std::string& json) const
{
    const auto option = std::find_if(m_options.begin(), m_options.end(), [&](const KeyOption& o) { return o.json == json; });
    return option == m_options.end() ? FormRow::textOf(json) : QString::fromStdString(option->text);
}

void ChoiceRow::wrongChanged(bool isWrong)
{
    m_box->setProperty("wrong", isWrong);
    m_box->style()->unpolish(m_box);
    m_box->style()->polish(m_box);
}

QCheckBox* CheckRow::box()
{
    build();
    return m_box;
}

void CheckRow::buildControls()
{
    m_box = new QCheckBox(labelText(), this);
    hideLabel();
    addControl(m_box, 1);
    watch(m_box);
    connect(m_box, &QCheckBox::clicked, this,
            [this](bool on) { Q_EMIT chosen(on ? QStringLiteral("true") : QStringLiteral("false"), 0); });
}

void CheckRow::present(const std::optional<std::string>& json)
{
    m_box->setChecked(json == "true");
}

QString CheckRow::textOf(const std::string& json) const
{
    return json == "true" ? tr("on") : tr("off");
}

QLineEdit* TextRow::line()
{
    build();
    return m_line;
}

void TextRow::buildControls()
{
    m_line = new QLineEdit(this);
    m_line->setPlaceholderText(QString::fromUtf8(key().ifAbsent));
    m_line->setMinimumWidth(60);
    addControl(m_line, 1);
    watch(m_line);
    connect(m_line, &QLineEdit::editingFinished, this, &TextRow::take);
}

void TextRow::present(const std::optional<std::string>& json)
{
    m_shown = json ? textOf(*json) : QString();
    if (m_line->text() != m_shown) {
        m_line->setText(m_shown);
        m_line->setCursorPosition(0);
    }
}

QString TextRow::textOf(const std::string& json) const
{
    if (pointer() == kLayerTypes && json.starts_with('['))
        return layerTypesText(json);
    return json == "null" ? QString() : json.starts_with('[') ? runsText(json) : QString::fromStdString(unquoted(json));
}

void TextRow::takeTyped()
{
    if (m_line != nullptr)
        take();
}

void TextRow::take()
{
    const QString text = m_line->text().trimmed();
    if (text == m_shown)
        return;
    m_shown = text;
    const bool isList = pointer() == "/schedule/layers_per_stage";
    const std::string json = text.isEmpty()             ? std::string()
                             : isList                   ? runsJson(text)
                             : pointer() == kLayerTypes ? layerTypesJson(text)
                                                        : app::quoted(text.toStdString());
    Q_EMIT chosen(text.isEmpty() ? QString() : QString::fromStdString(json), 0);
}

QString runsText(const std::string& json)
{
    const QJsonArray list = QJsonDocument::fromJson(QByteArray::fromStdString(json)).array();
    QStringList out;
    for (qsizetype begin = 0; begin < list.size();) {
        qsizetype end = begin;
        while (end < list.size() && list[end] == list[begin])
            ++end;
        const QString value = QString::number(list[begin].toInteger());
        out << (end - begin > 1 ? QStringLiteral("%1×%2").arg(end - begin).arg(value) : value);
        begin = end;
    }
    return out.join(QStringLiteral(", "));
}

std::string runsJson(const QString& text)
{
    constexpr int kMostStages = 65536;
    static const QRegularExpression kRun(QStringLiteral("^(?:(\\d{1,5})\\s*[×x*]\\s*)?(\\d{1,5})$"));
    QJsonArray out;
    for (const QString& part : text.split(QRegularExpression(QStringLiteral("[,;]|(?<=\\d)\\s+(?=\\d)")), Qt::SkipEmptyParts)) {
        const auto match = kRun.match(part.trimmed());
        const int times = match.captured(1).isEmpty() ? 1 : match.captured(1).toInt();
        if (!match.hasMatch() || out.size() + times > kMostStages)
            return app::quoted(text.toStdString());
        for (int i = 0; i < times; ++i)
            out.append(match.captured(2).toInt());
    }
    return QJsonDocument(out).toJson(QJsonDocument::Compact).toStdString();
}

} // namespace app
