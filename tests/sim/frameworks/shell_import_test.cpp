// Conditions and expansions of scripts that follow from the script alone, and what stands in a file beside it.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kSizesOfScript =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 ";

/// Of a script, on eight GPUs.
test::ImportedText scriptOf(const std::string& head, const std::string& flags)
{
    return importedText(head + "\npython pretrain_gpt.py " + kSizesOfScript + flags + "\n", 8);
}

Json stagesOf(const std::string& test)
{
    return scriptOf("TP=4; PP=8; SIZE=7b; EMPTY=\nif " + test + "; then X=2; else X=1; fi", "--pipeline-model-parallel-size $X")
        .at("/layout/pp");
}

TEST(ShellConditions, JoinedOnesFollowFromTheScript)
{
    for (const char* yes :
         {"[[ $PP -gt 1 && $TP -gt 1 ]]", "[ $PP -gt 1 ] && [ $TP -gt 1 ]", "[ $PP -gt 1 -a $TP -gt 1 ]",
          "[ $PP -lt 1 -o $TP -gt 1 ]", "(( TP > 1 && PP > 1 ))", "(( PP % TP == 0 ))", "[ $PP -lt 1 ] || true",
          "[[ $PP -lt 1 || $TP -gt 1 && $SIZE == 7* ]]", "[[ ( $PP -lt 1 || $TP -gt 1 ) && $SIZE == 7b ]]",
          "! [ $PP -lt 1 ] &&\n  [ $TP = 4 ]", "[ -z \"$EMPTY\" ] && [ ! $TP = 5 ]", "[ $TP = 4 ] || grep -q x hosts", "! false",
          "! (( TP > 4 ))", "[ \"$SIZE\" ] && [ ! \"$UNSET\" ]", "[ -n \"/$UNSET\" ]"}) {
        EXPECT_EQ(stagesOf(yes), 2) << yes;
        EXPECT_EQ(scriptOf("TP=4; PP=8; SIZE=7b; EMPTY=\nif " + std::string(yes) + "; then X=1; fi", "").became("if"), "no note")
            << yes;
    }
    for (const char* no : {"[[ $PP -gt 1 && $TP -gt 4 ]]", "[ $PP -gt 1 ] && [ $TP -gt 4 ]", "[ $PP -gt 1 -a $TP -gt 4 ]",
                           "(( TP > 4 || PP > 8 ))", "grep -q x hosts && [ $TP = 5 ]",
                           "[[ $PP -lt 1 || $TP -gt 1 && $SIZE == 8* ]]", "[ $TP = 4 ] && [ $PP = 8 ] && [ $SIZE = 8b ]"})
        EXPECT_EQ(stagesOf(no), 1) << no;
    EXPECT_EQ(scriptOf("if [ -f hosts ] && [ 1 = 1 ]; then X=2; fi", "").valueOf("if"), "[ -f hosts ] && [ 1 = 1 ]");
    for (const char* open : {"[ -z \"$(command -v nvcc)\" ]", "[[ -n $GPUS ]]", "[ \"$GPUS\" ]", "[ -z \"${SIZE%%[a-z]*}\" ]"})
        EXPECT_EQ(scriptOf("SIZE=7b; GPUS=$(nvidia-smi -L | wc -l)\nif " + std::string(open) + "; then X=2; fi", "").became("if"),
                  "unknown")
            << open;
}

TEST(ShellConditions, ABranchIsPassedOverWhereItsOwnTestIsFalseOrAnotherWasTaken)
{
    const auto stages = [](const std::string& branches) {
        return scriptOf("SP=true\n" + branches, "--pipeline-model-parallel-size $X").at("/layout/pp");
    };
    EXPECT_EQ(stages("if [ -f hosts ]; then X=2; elif [ $SP = false ]; then X=4; fi"), 2);
    EXPECT_EQ(stages("if [ -f hosts ]; then X=2; elif [ $SP = true ]; then X=4; else X=8; fi"), 4);
    EXPECT_EQ(stages("if [ -f hosts ]; then X=2; elif [ -f others ]; then X=4; else X=8; fi"), 8) << "the last counts";
}

TEST(ShellConditions, ArithmeticIsCsOwn)
{
    const auto stages = [](const std::string& expression) {
        return scriptOf("A=3; B=2", "--pipeline-model-parallel-size $((" + expression + "))").at("/layout/pp");
    };
    EXPECT_EQ(stages("1 << A"), 8);
    EXPECT_EQ(stages("2**A"), 8);
    EXPECT_EQ(stages("A > B ? 4 : 2"), 4);
    EXPECT_EQ(stages("(A < B) + 1"), 1);
    EXPECT_EQ(stages("!(A == B) * 2"), 2);
    EXPECT_EQ(stages("16 - A * 4 / 2 % 5 - 13"), 2);
    EXPECT_EQ(stages("2 + 1 << 1 & 4"), 4) << "a sum binds tighter than a shift, and this than &";
}

TEST(ShellExpansions, ElementsLengthsAndCutTextsFollowFromTheScript)
{
    const auto stages = [](const std::string& head, const std::string& word) {
        return scriptOf(head, "--pipeline-model-parallel-size " + word).at("/layout/pp");
    };
    EXPECT_EQ(stages("S=(2 4 8); I=1", "${S[$I]}"), 4);
    EXPECT_EQ(stages("S=(2 4 8); I=1", "${S[I+1]}"), 8);
    EXPECT_EQ(stages("S=(2 4 8)", "${S[-1]}"), 8);
    EXPECT_EQ(stages("S=(a b c d)", "${#S[@]}"), 4);
    EXPECT_EQ(stages("N=four", "${#N}"), 4);
    EXPECT_EQ(stages("declare -A PPS=( [8b]=2 [70b]=4 ); SIZE=70b", "${PPS[$SIZE]}"), 4);
    EXPECT_EQ(stages("declare -A PPS\nPPS[8b]=2\nPPS[\"70b\"]=8\nPPS[70b]=4", "${PPS['70b']}"), 4);
    EXPECT_EQ(stages("declare -A PPS=([8b]=4)", "\"${PPS[@]}\""), 4);
    EXPECT_EQ(stages("S=(2 8 16); S[1]=4", "${S[1]}"), 4);
    EXPECT_EQ(stages("S=(2 8 16); I=0; S[$I]=4", "${S[0]}"), 4);
    EXPECT_EQ(stages("S=(a b c); S[3]=d", "${#S[@]}"), 4);
    EXPECT_EQ(stages("S[2]=4; S[0]=2", "${S[2]}"), 4);
    EXPECT_EQ(stages("N=pp4.sh; N=${N%.sh}", "${N#pp}"), 4);
    EXPECT_EQ(stages("N=a_b_4", "${N##*_}"), 4);
    EXPECT_EQ(stages("N=x4; M=${N^^}", "${M/X/}"), 4);
    EXPECT_EQ(stages("N=x_4_x; N=${N#\"x_\"}", "${N%'_x'}"), 4);
    EXPECT_EQ(stages("N=a*4", "${N#a?}"), 4);
    EXPECT_EQ(stages("N=a_b_4_c; N=${N%_?}", "${N##*b*_}"), 4);
    EXPECT_EQ(stages("N=--4-; N=${N//-/}", "$N"), 4);
    EXPECT_EQ(stages("N=$(echo \"4\")", "$N"), 4);
    EXPECT_EQ(stages("N=$(echo 4 )", "\"$N\""), 4);
    EXPECT_EQ(scriptOf("S=(2 4)", "--pipeline-model-parallel-size ${S[$SLURM_PROCID]}").became("--pipeline-model-parallel-size"),
              "unknown");
}

TEST(ShellExpansions, ElementsAreAssignedOneByOneAsLongAsThatIsQuick)
{
    std::string list = "A=(";
    for (int i = 0; i < 3000; ++i)
        list += " 2";
    EXPECT_EQ(scriptOf(list + ")\nA[1]=4", "--pipeline-model-parallel-size ${A[1]}").at("/layout/pp"), 4);
    std::string keys;
    for (int i = 0; i < 40'000; ++i)
        keys += "A[k" + std::to_string(i % 1999) + "]=1\n";
    EXPECT_THROW(scriptOf(keys, ""), sim::Error) << "in seconds, not in minutes";
}

TEST(ShellExpansions, LooksAtManyPiecesAreCounted)
{
    const auto times = [](int count, const std::string& text) {
        std::string all;
        for (int i = 0; i < count; ++i)
            all += text;
        return all;
    };
    for (const std::string& script :
         {times(20'000, "X+=a\n") + times(20'000, "Y=${X+}\n"), times(20'000, "X+=\"\"\n") + times(20'000, "Y=${#X}\n"),
          "A=(" + times(40'000, "a ") + ")\nB=1\n" + times(2000, "Y=${B+$A$A}\n")})
        EXPECT_THROW(scriptOf(script, ""), sim::Error) << "in seconds, not in minutes";
    EXPECT_EQ(scriptOf(times(200, "X+=4\n") + times(200, "Y=${X+4}\n"), "--pipeline-model-parallel-size $Y").at("/layout/pp"), 4);
}

TEST(ShellExpansions, SumsFollowFromTheScriptHoweverTheyAreWritten)
{
    const auto stages = [](const std::string& head) {
        return scriptOf(head, "--pipeline-model-parallel-size $PP").at("/layout/pp");
    };
    for (const char* head :
         {"PP=1; ((PP *= 4))", "PP=3; ((PP++))", "PP=3; (( ++PP ))", "PP=2; (( PP <<= 1 ))", "((PP = 2 * 2))", "let PP=2*2",
          "((A = (1, 2), PP = 4))", "let A=1,PP=4", "PP=8; let \"PP -= 4\"", "A=2; PP=$(expr $A \\* 2)", "A=2; PP=`expr $A + 2`",
          "PP=`echo 4`", "A=2; PP=$(echo \"$A*2\" | bc)", "PP=8; unset PP; PP=${PP:-4}", "PP=4; ((PP == 8))"})
        EXPECT_EQ(stages(head), 4) << head;
}

TEST(ShellExpansions, FactorsOfSumsAreCounted)
{
    const auto sumOf = [](int count, const std::string& one, const std::string& between) {
        std::string all = one;
        for (int i = 1; i < count; ++i)
            all += between + one;
        return all;
    };
    const std::string many = "A=\"1" + std::string(4000, ' ') + "\"\nB=" + sumOf(1000, "A", "+") + "\n";
    for (const std::string& sums : {"((" + sumOf(200, "X=B+B", ",") + "))", sumOf(200, "X=$((B+B))", "\n"),
                                    sumOf(200, "((B > 2))", "\n"), "let " + sumOf(200, "X=B+B", ",")})
        EXPECT_THROW(scriptOf(many + sums, ""), sim::Error) << "in seconds, not in minutes";
    EXPECT_EQ(
        scriptOf("A=1\nX=$((" + sumOf(1000, "A", "+") + "))", "--pipeline-model-parallel-size $((X / 250))").at("/layout/pp"), 4);
}

TEST(ShellFunctions, AreRunWhereTheyAreCalled)
{
    const auto stages = [](const std::string& head) {
        return scriptOf(head, "--pipeline-model-parallel-size $PP").at("/layout/pp");
    };
    for (const char* head :
         {"setup() {\n  local x=1\n  PP=4\n}\nPP=1\nsetup", "small() { PP=4; }\nlarge(){\n  PP=8\n}\nsmall",
          "function setup {\n  PP=$1\n}\nsetup 4", "setup ()\n{\n  shift\n  PP=$1\n}\nPP=2\nsetup 1 4",
          "count() { PP=$#; }\nboth() {\n  count \"$@\"\n}\nboth 1 '2 3' 4 5", "PP=4\nif false; then\n f() {\n  PP=8\n }\nfi\nf",
          "f() {\n  echo \"}\"\n  [ 1 = 1 ] && {\n    PP=4\n  }\n}\nPP=1; f", "f() {\n  case 1 in\n  1) PP=4\n}\nPP=1\nf",
          "f() {\n  PP=4\n"})
        EXPECT_EQ(stages(head), 4) << head;
    const std::string train = "train() {\n  torchrun --nproc_per_node 8 pretrain_gpt.py " + kSizesOfScript +
                              "--tensor-model-parallel-size ${1:-4}\n}\n";
    for (const auto& [start, tp] :
         {std::pair{"train 2", 2}, std::pair{"srun bash -c train", 4}, std::pair{"\"$@\"", 4}, std::pair{"srun -N 1 train 2", 2},
          std::pair{"/bin/timeout 10m env X=1 train 2", 2}, std::pair{"if ! train; then exit 1; fi", 4}})
        EXPECT_EQ(importedText(train + start + "\n").at("/layout/tp"), tp) << start;
    EXPECT_THAT(scriptOf("f() { PP=4; }\n[ -f hosts ] && f", "--pipeline-model-parallel-size $PP")
                    .textOn("--pipeline-model-parallel-size"),
                HasSubstr("a branch of line 2, which"));
    EXPECT_EQ(stages("PP=4\nf() { f; f; f; f; f; f; f; f; }\nf"), 4) << "it ends";
}

TEST(ShellFunctions, ThatCallThemselvesOrManyAreToldAndTheRestIsRead)
{
    const auto many = [](const std::string& name) {
        std::string text = name + "() {";
        for (int i = 0; i < 4000; ++i)
            text += name == "f" ? " f;" : " h;";
        return text + " }\n";
    };
    const auto itself = scriptOf(many("f") + "f\nPP=4", "--pipeline-model-parallel-size $PP");
    EXPECT_EQ(itself.at("/layout/pp"), 4);
    EXPECT_THAT(itself.textOn("f"), HasSubstr("calls itself"));
    std::string calls;
    for (int i = 0; i < 1000; ++i)
        calls += "g\n";
    const auto fan = scriptOf("h() { X=1; }\n" + many("g") + calls + "PP=4", "--pipeline-model-parallel-size $PP");
    EXPECT_EQ(fan.at("/layout/pp"), 4);
    EXPECT_THAT(fan.textOn("h"), HasSubstr("very often"));
}

TEST(ShellFunctions, AreNotRunWhereTheirNameIsAValue)
{
    const std::string save = "eval_all() {\n  PP=8\n}\nPP=4\n";
    for (const char* command : {"python convert.py --save eval_all", "srun --job-name eval_all python convert.py eval_all"})
        EXPECT_EQ(scriptOf(save + command, "--pipeline-model-parallel-size $PP").at("/layout/pp"), 4) << command;
    const std::string train = "train() {\n  torchrun pretrain_gpt.py " + kSizesOfScript + "--task train\n}\ntrain\n";
    EXPECT_EQ(importedText(train, 8).became("torchrun"), "no note") << "one command is one";
}

TEST(ShellExpansions, WhatIsMadeOfSomethingUndecidedIsUndecided)
{
    const std::string branch = "if [ -f hosts ]; then A=(1 2); M=2; else A=(1 2 4 8); M=22; fi";
    for (const auto& [head, word] :
         {std::pair{"M=$(wc -l < hosts)", "${#M}"}, std::pair{"A=($(cat hosts))", "${#A[@]}"},
          std::pair{"A=($(cat hosts) 2 4)", "${A[1]}"}, std::pair{"A=(2 4 $(cat hosts))", "${A[-2]}"},
          std::pair{"A=(${HOSTS} 4)", "${#A[*]}"}, std::pair{"declare -A A=([x]=$(cat hosts))", "${A[x]}"},
          std::pair{branch.c_str(), "${#A[@]}"}, std::pair{branch.c_str(), "${#M}"}, std::pair{branch.c_str(), "${A[1]}"},
          std::pair{"A=(2 4); A[1]+=8", "${A[1]}"}, std::pair{"A=(2 4); mapfile -t A < hosts", "${#A[@]}"},
          std::pair{"M=2; read -r -p 'M: ' M", "$M"}, std::pair{"M=2; (( M += NODES ))", "$M"},
          std::pair{"M=$(expr $NODES / 2)", "$M"}, std::pair{"M=$(cat hosts)", "${M:+2}"}, std::pair{"M=2x", "${M%$END}"},
          std::pair{"M=23", "${M%[0-9]}"}, std::pair{"M=$(echo 2\necho 4)", "\"$M\""}}) {
        const auto out = scriptOf(head, "--pipeline-model-parallel-size " + std::string(word));
        EXPECT_EQ(out.became("--pipeline-model-parallel-size"), "unknown") << head << ", " << word;
        EXPECT_EQ(out.at("/layout/pp"), 1) << head << ", " << word;
    }
    EXPECT_EQ(scriptOf("A=(2 4 $(cat hosts))", "--pipeline-model-parallel-size ${A[1]}").at("/layout/pp"), 4)
        << "what stands behind an element does not move it";
}

TEST(ShellExpansions, WhatIsMadeOfAValueOfABranchSaysSo)
{
    const std::string branch = "if [ -f hosts ]; then N=2; else N=4; fi\n";
    for (const char* word : {"$N", "$((N * 1))", "$(($N + 0))", "${N%x}", "${M:-$N}", "$(echo $N)", "$(expr $N + 0)", "$K"}) {
        const auto out = scriptOf(branch + "K=$((N))", "--pipeline-model-parallel-size " + std::string(word));
        EXPECT_EQ(out.at("/layout/pp"), 4) << word;
        EXPECT_THAT(out.textOn("--pipeline-model-parallel-size"), HasSubstr("a branch of line 1, which")) << word;
    }
    for (const auto& [sum, word] : {std::pair{"(( N += 0 ))", "$N"}, std::pair{"(( K = N ))", "$K"}, std::pair{"let K=N", "$K"}})
        EXPECT_THAT(scriptOf(branch + sum, "--pipeline-model-parallel-size " + std::string(word))
                        .textOn("--pipeline-model-parallel-size"),
                    HasSubstr("a branch of line 1, which"))
            << sum;
    for (const char* word : {"${N:+4}", "${N+4}", "${M:+$N}", "$(echo ${A[@]})"})
        EXPECT_THAT(scriptOf("if [ -f hosts ]; then N=4; A=(4); fi\nM=1", "--pipeline-model-parallel-size " + std::string(word))
                        .textOn("--pipeline-model-parallel-size"),
                    HasSubstr("a branch of line 1, which"))
            << word;
    EXPECT_THAT(scriptOf(branch, "--wandb-project $(echo N) --pipeline-model-parallel-size $(echo 4)").textOn("--wandb-project"),
                testing::Not(HasSubstr("branch")))
        << "a word is no variable";
}

TEST(ShellConditions, OnAValueOfABranchAreNotDecided)
{
    const std::string branch = "if [ -f hosts ]; then N=8; else N=2; fi\n";
    for (const char* test : {"if [ $N = 2 ]; then X=4; else X=2; fi", "if [[ ( $N == 2 ) ]]; then X=4; else X=2; fi",
                             "if (( N == 2 )); then X=4; else X=2; fi", "if (( $N > 2 )); then X=4; else X=2; fi",
                             "[ $N -gt 2 ] && X=4 || X=2", "case $N in\n2) X=4;;\n*) X=2;;\nesac"}) {
        const auto out = scriptOf(branch + test, "--pipeline-model-parallel-size $X");
        EXPECT_EQ(out.at("/layout/pp"), 2) << test;
        EXPECT_THAT(out.textOn("--pipeline-model-parallel-size"), HasSubstr("a branch of line 2, which")) << test;
    }
    EXPECT_EQ(scriptOf("if [ -f hosts ]; then\n N=8\n if [ $N = 8 ] && (( N > 4 )); then X=4; else X=2; fi\nfi",
                       "--pipeline-model-parallel-size $X")
                  .at("/layout/pp"),
              4)
        << "in the branch itself they are";
}

TEST(ShellExpansions, LongTextsAreReadAndLongPatternsAreNot)
{
    std::string lines = "OPTS=$(cat <<EOF\n";
    for (int i = 0; i < 200'000; ++i)
        lines += "  \\\n";
    lines += "  --pipeline-model-parallel-size 2 \\\n  --bf16\nEOF\n)";
    EXPECT_EQ(scriptOf(lines, "$OPTS").at("/layout/pp"), 2);

    const std::string letters(2000, 'a');
    std::string stars;
    for (int i = 0; i < 40; ++i)
        stars += "*a";
    std::string cuts = "N=" + letters + "\n";
    for (int i = 0; i < 20; ++i)
        cuts += "M=${N%%" + stars + "b}\nM=${M##" + stars + "b}\n";
    EXPECT_EQ(scriptOf(cuts, "--pipeline-model-parallel-size $((${#M} / 1000))").at("/layout/pp"), 2);
    EXPECT_EQ(scriptOf("N=4" + letters, "--pipeline-model-parallel-size ${N%%" + std::string(101, 'a') + "*}")
                  .became("--pipeline-model-parallel-size"),
              "unknown");
}

TEST(ShellExpansions, TextOfAHereDocumentIsArguments)
{
    const auto out =
        importedText("H=1024\nOPTS=$(cat <<EOF\n  --num-layers 12 \\\n  --hidden-size $H\n  --num-attention-heads 16\n"
                     "EOF\n)\npython pretrain_gpt.py $OPTS --seq-length 1024 --max-position-embeddings 1024 "
                     "--micro-batch-size 1 --bf16\n",
                     8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 12);
    EXPECT_EQ(out.at("/model/hidden_size"), 1024);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    for (const sim::Note& note : out.imported.notes)
        EXPECT_TRUE(note.setting != "--hidden-size" || note.line == 4) << note.line;
}

TEST(ShellExpansions, WhatOnlyABranchPassedOverSetsIsNothing)
{
    const std::string head = "LOAD=none\nif [ $LOAD != none ]; then\n  load_option=\" --load $LOAD\"\n  MORE=--fp16\nfi\n";
    const auto out = scriptOf(head, "--tensor-model-parallel-size 2 ${load_option} --bf16 ${load_option} --swiglu");
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/model/hidden_act"), "silu");
    EXPECT_EQ(out.count(Became::unknown), scriptOf("", "--tensor-model-parallel-size 2 --bf16 --swiglu").count(Became::unknown));
    EXPECT_EQ(scriptOf(head, "--bf16 ${MORE}").became("${MORE}"), "unknown") << "the environment may have it";
    EXPECT_EQ(scriptOf("while [[ $# -gt 0 ]]; do pp=$2; shift; done", "--pipeline-model-parallel-size $pp")
                  .became("--pipeline-model-parallel-size"),
              "unknown")
        << "the script's own options are asked for";
}

TEST(ShellFlags, ASwitchKeepsItsMeaningBeforeAVariable)
{
    const auto out =
        scriptOf("", "--use-rotary-position-embeddings $A --swiglu $B --use-distributed-optimizer $C --bf16 ${EXTRA}");
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/model/hidden_act"), "silu");
    EXPECT_EQ(out.at("/model/position_embedding"), "rope");
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    for (const char* word : {"${A}", "${B}", "${C}", "${EXTRA}"}) {
        EXPECT_EQ(out.became(word), "unknown") << word;
        EXPECT_THAT(out.textOn(word), HasSubstr("takes no value"));
    }
    // where switches have values a variable is one of them
    EXPECT_EQ(scriptOf("", "--sequence_parallel $SP --packing false").became("--sequence_parallel"), "unknown");
}

TEST(ShellFlags, ThoseBehindACommentAreNoneOfTheCommand)
{
    const auto out = importedText("torchrun --nproc_per_node 8 pretrain_gpt.py " + kSizesOfScript +
                                  "\\\n  --tensor-model-parallel-size 2 \\\n  # --swiglu \\\n  --bf16\n");
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.became("--bf16"), "unknown");
    EXPECT_THAT(out.textOn("--bf16"), HasSubstr("a command of its own"));
}

TEST(ShellFiles, AFileThatIsGivenIsRunWhereItIsSourced)
{
    const std::string script = "source ./model.sh\n. conf.sh\nTP=${TP:-1}\npython pretrain_gpt.py "
                               "${MODEL_ARGS[@]} --tensor-model-parallel-size $TP --bf16\n";
    const std::string model = "MODEL_ARGS=(\n  --num-layers 24 --hidden-size 2048 --num-attention-heads 16\n"
                              "  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1\n)\nTP=4\n";
    for (const bool isFirst : {false, true}) {
        std::vector<sim::SettingsFile> files{{"dir/run.sh", script}, {"other/model.sh", model}};
        if (isFirst)
            std::swap(files[0], files[1]);
        const sim::Imported out = sim::importSettings(files, {.gpus = 8}, test::catalogue());
        const Json scenario = Json::parse(out.scenario);
        EXPECT_EQ(scenario["layout"]["tp"], 4);
        EXPECT_EQ(scenario["model"]["num_hidden_layers"], 24);
        for (const sim::Note& note : out.notes) {
            EXPECT_NE(note.became, Became::contradictory) << note.text;
            EXPECT_NE(note.value, "./model.sh");
        }
        EXPECT_TRUE(std::any_of(out.notes.begin(), out.notes.end(), [](const sim::Note& note) {
            return note.value == "conf.sh" && note.line == 2 && note.text.find("give it, too") != std::string::npos;
        }));
    }
    EXPECT_EQ(
        importedText("source ./env.sh\nsource venv/bin/activate\npython pretrain_gpt.py " + kSizesOfScript, 8).became("source"),
        "unknown");
    EXPECT_EQ(importedText("source venv/bin/activate\npython pretrain_gpt.py " + kSizesOfScript, 8).became("source"), "no note");
}

TEST(ShellFiles, NotesOnASourcedFileNameItAndItsLines)
{
    const std::string sizes = "  --num-layers 24 --hidden-size 2048 --num-attention-heads 16\n"
                              "  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --swiglu\n";
    const auto importOf = [&](const std::string& head, const std::string& tail) {
        return sim::importSettings({{"run.sh", "# starts it\n" + head +
                                                   "TP=2\npython pretrain_gpt.py ${MODEL_ARGS[@]} "
                                                   "--tensor-model-parallel-size $TP ${MORE}\n"},
                                    {"model.sh", "MODEL_ARGS=(\n" + sizes + ")\n" + tail}},
                                   {.gpus = 8}, test::catalogue());
    };
    const auto noteOn = [](const sim::Imported& out, const std::string& setting) {
        const auto found =
            std::find_if(out.notes.begin(), out.notes.end(), [&](const sim::Note& note) { return note.setting == setting; });
        return found == out.notes.end() ? std::string("no note")
                                        : found->file + ":" + std::to_string(found->line) + ": " + found->text;
    };
    const sim::Imported out = importOf("source ./model.sh\n", "if [ -f hosts ]; then MORE=--bf16\nfi\nif [ 1 = 2 ]; then\n");
    EXPECT_EQ(Json::parse(out.scenario)["layout"]["tp"], 2) << "what the file leaves open ends with it";
    EXPECT_THAT(noteOn(out, "--num-layers"), testing::StartsWith("model.sh:2: "));
    EXPECT_THAT(noteOn(out, "--swiglu"), testing::StartsWith("model.sh:3: "));
    EXPECT_THAT(noteOn(out, "if"), testing::StartsWith("model.sh:5: "));
    EXPECT_THAT(noteOn(out, "--bf16"), testing::StartsWith("model.sh:5: "));
    EXPECT_THAT(noteOn(out, "--bf16"), HasSubstr("a branch of line 5, which"));
    EXPECT_THAT(noteOn(out, "--tensor-model-parallel-size"), testing::StartsWith("run.sh:4: "));

    const sim::Imported perhaps = importOf("[ -f model.sh ] && . ./model.sh\n", "fi\nMORE=--bf16\n");
    EXPECT_THAT(noteOn(perhaps, "--bf16"), HasSubstr("a branch of line 2 of run.sh, which"));
    EXPECT_THAT(noteOn(perhaps, "--tensor-model-parallel-size"), testing::Not(HasSubstr("branch")));

    std::string words = "\nA=(\n", flags = "MODEL_ARGS+=(\n";
    for (int i = 0; i < 80'001; ++i)
        words += " a";
    for (int i = 0; i < 20'002; ++i)
        flags += " --a";
    for (const auto& [tail, told] : {std::pair{words, "model.sh:7: an array has more than"},
                                     std::pair{flags + ")\n", "model.sh:6: has more than 20000 settings"}})
        try {
            importOf("source model.sh\n", tail);
            ADD_FAILURE() << "is read";
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), testing::StartsWith(told));
        }
}

TEST(ShellFiles, LinesOfABatchSystemCountOnceInAFunctionThatNothingCloses)
{
    const std::string batch = "open() {\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n";
    const auto notes = [&](const std::string& script) {
        const auto out = importedText(script + "\npython pretrain_gpt.py " + kSizesOfScript + "\n", 8);
        return std::count_if(out.imported.notes.begin(), out.imported.notes.end(),
                             [](const sim::Note& note) { return note.setting.find("nodes") != std::string::npos; });
    };
    EXPECT_EQ(notes(batch), notes(batch + "}")) << "as of one that is closed";
    const sim::Imported out = sim::importSettings({{"run.sh", ". ./lib.sh\nPP=4\nlater() {\n  PP=8\n}\npython pretrain_gpt.py " +
                                                                  kSizesOfScript + "--pipeline-model-parallel-size $PP\n"},
                                                   {"lib.sh", "open() {\n  X=1\n"}},
                                                  {.gpus = 8}, test::catalogue());
    EXPECT_EQ(Json::parse(out.scenario)["layout"]["pp"], 4) << "functions of this file are run where they are called";
}

TEST(ShellFiles, AFileIsSourcedByItsWholeName)
{
    const auto tp = [](const std::string& env, const std::string& run) {
        const sim::Imported out = sim::importSettings({{"env.sh", env}, {"dir/run.sh", run}}, {.gpus = 8}, test::catalogue());
        return Json::parse(out.scenario)["layout"]["tp"];
    };
    const std::string command = "python pretrain_gpt.py " + kSizesOfScript + "--tensor-model-parallel-size ";
    EXPECT_EQ(tp(command + "4\n", ". ./myenv.sh; cat env.sh # source env.sh\nsource\nenv.sh\n" + command + "2\n"), 2)
        << "of two commands the later one counts";
    EXPECT_EQ(tp(command + "4\n", "echo source env.sh\nls . env.sh\nA=(source env.sh)\n" + command + "2\n"), 2)
        << "words of other commands";
    for (const char* source :
         {"X=\"#1\"; . ./env.sh", "source env.sh", "[ -f env.sh ] && source \"$DIR/env.sh\"", "if true; then . ./env.sh; fi",
          "case 7b in\n7b) source env.sh ;;\nesac", "case 7b in 7b) . env.sh;; esac", "load() { source env.sh; }\nload",
          "source \"$(dirname \"$0\")/env.sh\"", "source $(dirname ${BASH_SOURCE[0]})/env.sh"})
        EXPECT_EQ(tp("TP=4\nSIZES='" + kSizesOfScript + "'\n", source + ("\n" + command) + "$TP\n"), 4) << source;
}

} // namespace
