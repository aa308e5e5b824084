#include "app/shell/recorded/cache_question.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/style.h"
#include "sim/trace/cache/cached_reading.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include <filesystem>

namespace app {

CacheQuestion::CacheQuestion(QWidget* parent) : QFrame(parent), m_text(wordsLabel("muted"))
{
    setRole(this, "notice");
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 6, 12, 6);
    row->addWidget(m_text, 1);
    const auto add = [&](const QString& text, const QString& tip, CacheChoice choice) {
        auto* button = new QPushButton(text);
        button->setToolTip(tip);
        connect(button, &QPushButton::clicked, this, [this, choice] { answer(choice); });
        row->addWidget(button);
    };
    add(tr("Keep It"), tr("Of this run only"), CacheChoice::ask);
    add(tr("Always"), tr("Of this run, and of every large one that is read from now on"), CacheChoice::always);
    add(tr("Never"), tr("Nothing is written, and nobody asks again: Recorded > Keep a Cache Beside the Files still does"),
        CacheChoice::never);
    hide();
}

QString CacheQuestion::text() const
{
    return m_text->text();
}

void CacheQuestion::consider(const QStringList& opened, bool isWorthIt, CacheChoice choice)
{
    hide();
    if (!isWorthIt || choice == CacheChoice::never)
        return;
    if (choice == CacheChoice::always) {
        Q_EMIT agreed();
        return;
    }
    std::vector<std::filesystem::path> paths;
    for (const QString& path : opened)
        paths.emplace_back(path.toStdString());
    const QString cache = QString::fromStdString(sim::cachePathOf(paths).filename().string());
    m_text->setText(tr("This run is large. A cache beside its files, %1, would spare reading them next time.").arg(cache));
    show();
}

void CacheQuestion::answer(CacheChoice choice)
{
    hide();
    if (choice != CacheChoice::ask)
        Q_EMIT answered(choice);
    if (choice != CacheChoice::never)
        Q_EMIT agreed();
}

} // namespace app
