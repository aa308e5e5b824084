// What checks and files say of a file's keys, in the words of the form.
#pragma once

#include <QString>

#include <string>

namespace app {

/// "global_batch_size 60" as the form says it: "global batch 60"; keys that the form does not have lose their underscores.
QString plainWords(const QString& text);
std::string plainWords(const std::string& text);
/// Of what stands alone: begins with a capital, but where its first word is a name ("tp", "1f1b", "round-robin").
QString asSentence(QString text);
/// Markdown in which `global_batch_size` or `layout.zero_stage` names a setting: “Global batch”, as one finds it in the form.
/// Other code stays.
QString plainDescription(const QString& markdown);

} // namespace app
