#include "app/shell/widgets/problem_words.h"

#include "app/session/plain_words.h"
#include "app/session/scenario_keys.h"
#include "app/shell/widgets/format.h"

#include <string_view>

namespace app {

QString saidPlainly(const sim::Problem& problem)
{
    const QString message = beginningOf(problem.message);
    if (problem.pointer.empty())
        return asSentence(message);
    constexpr std::string_view kBase = "/base"; // what a model or a cluster is chosen by
    std::string_view pointer = problem.pointer;
    if (pointer.ends_with(kBase))
        pointer.remove_suffix(kBase.size());
    const ScenarioKey* key = findScenarioKey(pointer);
    if (key == nullptr) {
        const QString written = QStringLiteral("“%1”").arg(beginningOf(problem.pointer.substr(problem.pointer.rfind('/') + 1)));
        const QString kUnknown = QStringLiteral("unknown key");
        if (!message.startsWith(kUnknown))
            return written + QStringLiteral(": ") + message;
        return QObject::tr("There is no setting %1%2").arg(written, message.mid(kUnknown.size()));
    }
    const bool hasLetters = sentenceName(*key) == key->unit; // an axis: “Tensor tp”, as the form has it
    const QString name = QObject::tr(key->label) + (hasLetters ? QLatin1Char(' ') + QLatin1String(key->unit) : QString());
    return QStringLiteral("%1: %2").arg(name, plainWords(message));
}

} // namespace app
